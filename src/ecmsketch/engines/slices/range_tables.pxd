from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from ecmsketch.engines.slices.ranges cimport Range
from ecmsketch.engines.slices.types cimport Slice
from ecmsketch.kernels.hashing cimport Row

ctypedef fused Plain:
    uint16_t
    int32_t
    int64_t

cdef struct Tables:         # the tables of a range: `whole` of slices inside, then one for each slice that it cuts
    Slice* slices
    int64_t words           # of a plane
    int64_t many
    int64_t whole
    int64_t* ends           # table t is the sum of the slices slots[ends[t - 1]] .. slots[ends[t] - 1]
    int32_t* slots
    void** plain            # its cells in plain numbers, or NULL: then its slices are read packed
    uint8_t* sizes          # bytes of these numbers: 2, 4 or 8
    bint wide               # whether sums of cells need 8 bytes, or 4

cdef struct Parts:          # what a table adds to an item's count: a share of it less what collisions add,
    double* noise
    double* shares
    double* slack           # kept within `slack` of both ends,
    double* most            # and at most `most`
    double likely           # what an item's least collision in the sum of whole tables rarely exceeds, or infinity

cdef struct Counts:         # a count, with its bounds
    double value
    double lower
    double upper

cdef int64_t MOST_ROWS

# Sets many, whole, ends and slots, for which there is space for all slices; from the range that was located.
cdef void group_slices(Range* found, Tables* tables) noexcept nogil
# What a cut slice, in which an item has so many arrivals, adds to its count.
cdef double cut_count(double count, double noise, double share, double slack) noexcept nogil
# Writes 32 * words cells of 4 bytes, or 8 if `wide`. Scratch: 4 * words words, and one for each slice.
cdef void fill_plain(Tables* tables, int64_t t, void* cells, uint64_t* scratch) noexcept nogil
# The bytes of a number in which some cells of 4 or 8 bytes fit; and a copy of them in such numbers, NULL without memory.
cdef int64_t size_of_cells(void* cells, int64_t count, bint wide) noexcept nogil
cdef void* copy_cells(void* cells, int64_t count, bint wide, int64_t size) noexcept nogil
cdef void read_packed(uint64_t* table, int64_t words, uint32_t* cells, int64_t count, int64_t* counts) noexcept nogil  # adds
# One item, whose cells are one a row: its counts in (since, until], if it came `exact` times in events.
cdef Counts read_one(Tables* tables, Parts* parts, uint32_t* cells, int64_t depth, double exact) noexcept nogil
# Many items. False without memory. `exact` may be `value`.
cdef bint read_points(Tables* tables, Parts* parts, uint64_t* keys, int64_t count, Row* rows, int64_t depth, double* exact, double* value, double* lower, double* upper) noexcept nogil
# In these two, entry i of `parts` is that of the i-th slice that is cut.
cdef bint read_prefixes(Tables* tables, Parts* parts, uint64_t* keys, int64_t count, Row* rows, int64_t depth, double* exact, double* inside, double* value, double* upper) noexcept nogil
cdef bint read_cells(Tables* tables, Parts* parts, uint32_t* numbers, int64_t count, double* exact, double* value, double* lower, double* upper) noexcept nogil
