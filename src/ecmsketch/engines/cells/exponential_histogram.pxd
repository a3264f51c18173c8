from libc.stdint cimport int64_t, uint32_t

from ecmsketch.engines.cells.arrivals cimport Arrivals
from ecmsketch.engines.cells.buckets cimport BucketCounters, Straddling
from ecmsketch.engines.cells.counters cimport CounterChange

cdef struct Histograms:     # buckets of cell c end at ends[first[c]] .. ends[first[c] + length[c] - 1], oldest first
    void* ends              # an arena, of which cell c has offset[c] .. offset[c + 1] - 1
    bint wide               # ends have 64 bits, else 32
    int64_t capacity        # elements of the arena
    int64_t cells
    int64_t k
    int64_t* offset
    int64_t* first
    int64_t* length
    int64_t* numbers        # arrivals that the cell has ever seen

cdef struct Level:          # where one walks the levels of a cell, from the newest bucket on
    int64_t arrived         # buckets that ever came to the level
    int64_t level
    int64_t count           # those that stay

cdef struct Ending:         # the next bucket of a cell that ends, while a batch is walked through backwards
    int64_t position        # where its end goes
    int64_t level
    int64_t left            # buckets of its level that are left
    int64_t older           # buckets that ever came to the level above


cdef class ExponentialHistograms(BucketCounters):
    cdef Histograms state


cdef class HistogramChange(CounterChange):
    cdef ExponentialHistograms histograms
    cdef Arrivals arrivals
    cdef int64_t base
    cdef int64_t shift
    cdef int64_t* scratch
    cdef int64_t* coming    # per cell: arrivals that come; while they are picked, those to skip before a bucket ends
    cdef int64_t* first     # state.first and state.length without what has expired
    cdef int64_t* length
    cdef Ending* endings
    cdef int64_t* kept
    cdef void* ends         # a larger arena, if one is needed
    cdef int64_t* offset
    cdef int64_t capacity
    cdef int get_scratch(self) except? -1
    cdef bint forget_expired(self, int64_t limit, int64_t* needed) noexcept nogil
    cdef int enlarge(self, int64_t* needed) except? -1
    cdef void lay_out(self) noexcept nogil
