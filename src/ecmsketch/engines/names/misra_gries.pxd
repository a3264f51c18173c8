from libc.stdint cimport int64_t, uint64_t

cdef struct Tally:          # keys and their counts, and the hash table in which they are counted
    void* memory
    uint64_t* slots         # a key and its count each; a count of 0 if a slot is free, as all are between two countings
    uint64_t* used_slots    # places in `slots`
    uint64_t* left_keys     # what did not find a slot, and is counted again with another hash
    int64_t* left_counts
    uint64_t* keys
    int64_t* counts

cdef bint open_tally(Tally* tally, int64_t capacity) noexcept nogil    # False without memory
cdef void close_tally(Tally* tally) noexcept nogil
cdef int64_t count_keys(Tally* tally, uint64_t* keys, int64_t* counts, int64_t count) noexcept nogil
cdef int64_t write_reduced(Tally* tally, int64_t used, int64_t size, uint64_t* keys, int64_t* counts, int64_t at, int64_t* taken) noexcept nogil
