from libc.stdint cimport int64_t, uint64_t

cdef bint in_order(int64_t* ticks, int64_t count) noexcept nogil
cdef void sort_ticks(int64_t* ticks, int64_t* companions, int64_t count, int64_t* scratch) noexcept nogil
cdef void sort_words(uint64_t* words, int64_t count, uint64_t* scratch) noexcept nogil
