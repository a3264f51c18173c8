from libc.stdint cimport int64_t, uint64_t

from ecmsketch.engines.cells.arrivals cimport Arrivals
from ecmsketch.engines.cells.counters cimport CounterArray, CounterChange
from ecmsketch.engines.cells.samples cimport Samples


cdef class RandomizedWaves(CounterArray):
    cdef public uint64_t key         # levels are drawn by it
    cdef readonly int64_t arrived    # arrivals ever counted: the number of the last one
    cdef readonly int64_t base       # offsets of ticks count from it
    cdef Samples state
    cdef int unite_with(self, RandomizedWaves part) except? -1


cdef class SampleChange(CounterChange):
    cdef Arrivals arrivals
    cdef Samples arena               # without memory if the old one is large enough
    cdef uint64_t key
    cdef int64_t total               # arrivals that come
    cdef int64_t base
    cdef int64_t oldest              # see Draws
    cdef bint spread
