from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef struct Row:
    uint64_t low
    uint64_t high
    uint64_t shift
    uint64_t drop
    uint64_t width
    uint64_t first
    uint64_t mixed

cdef int64_t CHUNK

cdef uint64_t mix_word(uint64_t word) noexcept nogil
cdef void mix_items(uint64_t* items, int64_t count, Row* rows, int64_t row, uint64_t* words) noexcept nogil
cdef void hash_row(uint64_t* words, int64_t count, Row* row, uint32_t* cells) noexcept nogil
cdef void fill_cells(uint64_t* items, int64_t count, Row* rows, int64_t depth, uint32_t* cells) noexcept nogil
cdef uint64_t xxhash64(uint8_t* data, int64_t size, uint64_t seed) noexcept nogil

cdef class RowHashes:
    cdef Row* rows
    cdef readonly int64_t depth
