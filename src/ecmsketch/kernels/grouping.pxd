from libc.stdint cimport int32_t, int64_t, uint64_t

cdef class Numbering:
    cdef uint64_t* keys
    cdef int32_t* slots
    cdef int64_t mask
    cdef readonly int64_t capacity
    cdef readonly int64_t count
