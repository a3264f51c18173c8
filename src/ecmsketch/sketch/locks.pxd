cdef class SketchLock:
    cdef object __weakref__
    cdef object turn        # released when somebody who waits should look again
    cdef long owner
    cdef int depth          # how often the owner has taken it; 0: it is free
    cdef int waiting
    cpdef int acquire(self) except -1
    cpdef int release(self) except -1
    cdef int _wait(self, long me) except -1
    cdef int _wake_next(self) except -1


cdef class SeveralLocks:
    cdef list locks
    cdef Py_ssize_t held    # the first so many are held
    cdef int give_back(self) except -1
