from libc.stdint cimport int64_t, uint32_t, uint64_t

from ecmsketch.kernels.hashing cimport Row


cdef class Arrivals:
    cdef readonly int64_t count      # events
    cdef readonly int64_t depth      # rows: cells that each event goes to
    cdef readonly int64_t block      # events of a block; the last one has fewer
    cdef readonly int64_t blocks
    cdef readonly int64_t limit      # all cells are below it
    cdef int64_t* ticks
    cdef int64_t* weights            # NULL: all are one
    cdef uint64_t* items             # NULL if cells were given
    cdef uint32_t* cells
    cdef Row* rows
    cdef int64_t loaded
    cdef tuple kept                  # what the pointers point to
    cdef int64_t size_of(self, int64_t block) noexcept nogil
    cdef int64_t stride_of(self, int64_t block) noexcept nogil
    cdef uint32_t* load(self, int64_t block) noexcept nogil

cdef int count_arrivals(Arrivals arrivals, int64_t* coming, int64_t cells) except? -1
