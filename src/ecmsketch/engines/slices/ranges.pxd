from libc.stdint cimport int32_t, int64_t

from ecmsketch.engines.slices.types cimport Plan, Slice

cdef int64_t FEW
cdef int32_t OUTSIDE
cdef int32_t CUT
cdef int32_t ONE_BY_ONE

cdef struct Range:          # what the slices are to a range (since, until]
    int64_t since
    int64_t until
    int64_t low             # slices before `low` and from `high` on lie outside
    int64_t high
    int64_t newer           # arrivals of the slices from `high` on
    int32_t* roles          # of the slices low .. high - 1, by slot: OUTSIDE, CUT, or inside: its age, or 64 + its slot
    int64_t whole           # how many slices lie inside,
    int64_t inside          # and their arrivals
    int64_t cuts            # how many it cuts,
    int64_t* slots          # and which, in order:
    double* shares          # a cut slice adds shares[i] of its count,
    double* slack           # kept within slack[i] of both ends,
    double* most            # and at most most[i]

# Memory for a range over so many slices, in one piece; give found.slots back with `free`. False without memory.
cdef bint new_range(int64_t count, Range* found) noexcept nogil
# Looks at the slices low .. high - 1 only. `later` arrivals of events came after `since`.
cdef void locate(Slice* slices, Plan* plan, bint half, int64_t later, Range* found) noexcept nogil
# For each slot: arrivals of the slices from there on, and the first tick of any of them. Both arrays are one longer than the slices.
cdef void sum_newer(Slice* slices, int64_t count, int64_t* newer, int64_t* firsts) noexcept nogil
# Sets low, high and newer, from since and until.
cdef void narrow(Slice* slices, int64_t count, int64_t* newer, int64_t* firsts, Range* found) noexcept nogil
# The sum of every stride-th number, in the order in which numpy adds them.
cdef double sum_pairwise(double* numbers, int64_t count, int64_t stride) noexcept nogil
