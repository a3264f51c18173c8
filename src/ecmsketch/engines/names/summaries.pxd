from libc.stdint cimport int64_t, uint64_t

cdef struct Events:         # sorted by tick; weights NULL: all are one
    uint64_t* keys
    int64_t* ticks
    int64_t* weights
    int64_t count

cdef struct Params:         # as SummaryParams
    int64_t size
    int64_t kept
    int64_t taken
    int64_t window
    int64_t counted

cdef struct Work:           # summaries while they are made: columns of `most`, and entries of `most_entries`
    int64_t most
    int64_t most_entries
    void* columns
    void* entries
    int64_t* first
    int64_t* last
    int64_t* arrivals
    int64_t* error
    int64_t* begin          # one more than `most`
    uint64_t* keys
    int64_t* counts
