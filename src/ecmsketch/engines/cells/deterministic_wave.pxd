from libc.stdint cimport int64_t

from ecmsketch.engines.cells.arrivals cimport Arrivals
from ecmsketch.engines.cells.buckets cimport BucketCounters
from ecmsketch.engines.cells.counters cimport CounterChange
from ecmsketch.engines.cells.rings cimport Rings


cdef class DeterministicWaves(BucketCounters):
    cdef Rings rings


cdef class RingChange(CounterChange):
    cdef Arrivals arrivals
    cdef Rings wider        # ticks are NULL if the old rings are wide enough
    cdef int64_t base
    cdef int64_t shift
