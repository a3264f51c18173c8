from libc.stdint cimport int32_t, int64_t, uint64_t

from ecmsketch.engines.slices.types cimport Batch, Cell
from ecmsketch.kernels.hashing cimport Row

# A table is one piece of memory in words of 64 bits: [references, planes, entries, planes x words, entries].
cdef void retain(uint64_t* table) noexcept nogil
cdef void release(uint64_t* table) noexcept nogil            # NULL is allowed; call both with the GIL or on tables nobody shares
cdef int64_t table_nbytes(uint64_t* table, int64_t words) noexcept nogil
cdef uint64_t* pack(Cell* cells, int64_t words) noexcept nogil             # cells has 32 * words cells; NULL without memory
cdef void unpack(uint64_t* table, int64_t words, Cell* cells) noexcept nogil    # adds the table to the cells (32 * words of them)
cdef int64_t read_cell(uint64_t* table, int64_t words, int64_t cell) noexcept nogil
cdef int64_t sum_words(int64_t words) noexcept nogil         # scratch words that `added` needs
cdef uint64_t* added(uint64_t* one, uint64_t* other, int64_t words, uint64_t* scratch) noexcept nogil
cdef void unpack_many(uint64_t** tables, int64_t count, int64_t words, Cell* cells, uint64_t* scratch) noexcept nogil
cdef void count_events(uint64_t* keys, int64_t* weights, int64_t count, Row* rows, int64_t depth, Cell* cells) noexcept nogil
