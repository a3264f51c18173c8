from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from ecmsketch.kernels.hashing cimport Row

cdef struct CodeLengths:    # numbers by what decides how many bits they take; all zeros between two tables
    int32_t small[1024]     # numbers below 256 by their value, in four lanes
    int64_t ones[2080]      # larger ones by their bits and the ones that these begin with
    uint64_t sum
    uint64_t largest        # all numbers, or-ed

cdef struct TableWork:      # memory in which tables are written and read, one after the other
    int64_t cells
    int64_t words
    int64_t* table          # 32 * words cells
    uint64_t* numbers       # what is written for each cell
    double* past            # the forecast of each cell before it is scaled, and of the arrivals
    CodeLengths* lengths
    void* memory
    uint8_t* out            # tables that were written, in memory of their own
    int64_t size
    int64_t capacity

cdef bint new_work(int64_t cells, TableWork* work) noexcept nogil     # free_work afterwards, also if it fails
cdef void free_work(TableWork* work) noexcept nogil
# How the table in `work` is written (twice the parameter, and 1 for differences) and in how many bits; put_numbers writes it.
cdef int64_t judge_table(int64_t arrivals, TableWork* work, int64_t* size) noexcept nogil
cdef int64_t put_numbers(uint64_t* numbers, int64_t count, int64_t parameter, uint8_t* out) noexcept nogil
cdef bint read_table(uint8_t* data, int64_t at, int64_t end, int64_t how, int64_t arrivals, Row* rows, int64_t depth, TableWork* work) noexcept nogil
