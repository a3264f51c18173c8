from libc.stdint cimport int64_t

from ecmsketch.engines.cells.counters cimport CounterArray, CounterChange


cdef class LateArrivals:
    cdef readonly object key         # seeds the random draws of the counters (`Counters.new`)
    cdef readonly object held        # a Batch, never changed in place
    cdef readonly CounterArray settled
    cdef readonly object frontier    # the newest settled tick: an arrival that is not after it came too late


cdef class LateChange:
    cdef LateArrivals late
    cdef readonly object held
    cdef readonly CounterArray settled
    cdef readonly CounterChange counted
    cdef readonly object frontier
    cdef readonly object batch       # what is settled by this change, or None
    cdef readonly object accepted    # how many are newly held
    cdef readonly object dropped     # how many came too late
    cdef readonly object oldest      # the oldest tick newly held, or None
    cdef bint fits(self)
    cdef void make(self) noexcept
