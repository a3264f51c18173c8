from libc.stdint cimport int64_t

from ecmsketch.engines.cells.counters cimport CounterArray, CounterChange
from ecmsketch.engines.cells.late cimport LateArrivals, LateChange


cdef class CellsEngine:
    cdef readonly object config
    cdef readonly object key         # seeds the random draws of this stream; zero where nothing is drawn
    cdef public object now
    cdef public object origin
    cdef public object levels
    cdef public object late_counted
    cdef public object late_dropped
    cdef readonly CounterArray counters
    cdef readonly LateArrivals late
    cdef object remembered
    cdef object blocks
    cdef int64_t version


cdef class EngineChange:
    cdef readonly CellsEngine engine
    cdef readonly object late        # late arrivals that are settled by this change (a Batch), or None
    cdef int64_t version
    cdef CounterArray counters
    cdef CounterChange counted
    cdef LateChange late_change
    cdef object now
    cdef object origin
    cdef object late_counted
    cdef object late_dropped
    cdef object remembered
