from libc.stdint cimport int64_t


cdef class CounterArray:
    cdef readonly object config
    cdef readonly int64_t version    # changes so far


cdef class CounterChange:
    cdef readonly CounterArray counters
    cdef int64_t version             # the counters' version that this is a change of
    cdef bint fits(self)
    cdef void make(self) noexcept
    cdef void apply(self) noexcept
