from libc.stdint cimport int64_t, uint64_t

from ecmsketch.engines.slices.types cimport Events, Plan, Slice

cdef class SliceStream:
    cdef readonly object config
    cdef readonly object rows        # keeps RowHashes alive
    cdef Plan plan
    cdef readonly int64_t levels     # levels of merging behind the slices
    cdef readonly int64_t fresh      # events since the last block of events became slices
    cdef Slice* slices               # sorted by their last ticks; tables are shared by reference counts
    cdef readonly int64_t used
    cdef int64_t capacity
    cdef Events events               # in memory of its own (event_memory), shared by reference counts
    cdef void* event_memory
    cdef readonly int64_t slices_id  # another number whenever the slices are others
