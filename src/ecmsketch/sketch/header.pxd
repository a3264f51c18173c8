from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef struct Numbers:        # the numbers of a header, in the order of their bytes; those that are not there are 0
    int64_t flags
    uint64_t key
    int64_t now
    uint64_t age            # now less the first tick
    uint64_t levels
    uint64_t since          # one more than now less the newest settled tick; 0 if nothing is settled
    uint64_t counted
    uint64_t dropped
    uint64_t held
    uint64_t kinds_size     # bytes of the item kinds, of the counters and of the settled late counters
    uint64_t counters_size
    uint64_t settled_size

cdef int64_t MOST_HEADER    # bytes that a header takes at most
cdef int64_t HAS_CLOCK, HAS_ORIGIN, HAS_COUNTERS, HAS_LATE
cdef int64_t LEAST_TICK, MOST_TICK

# The position after a header; a negative number says what is wrong with it. `drawn`: counter="rw", which has a key.
cdef int64_t read_header(uint8_t* data, int64_t at, int64_t end, bint drawn, Numbers* numbers) noexcept nogil
cdef int64_t write_header(Numbers* numbers, bint drawn, uint8_t* out, int64_t at) noexcept nogil
