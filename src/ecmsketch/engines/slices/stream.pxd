from libc.stdint cimport int64_t, uint64_t

from ecmsketch.engines.slices.types cimport Batch, Events, Plan, Slice

# Slices lie in a block of memory, shared by reference counts: [references, how many, bytes of their tables], then the slices.
# The block has one reference to each table.
cdef class SliceStream:
    cdef readonly object config
    cdef readonly object rows        # keeps RowHashes alive
    cdef Plan plan
    cdef readonly int64_t levels     # levels of merging behind the slices
    cdef readonly int64_t fresh      # events since the last block of events became slices
    cdef Slice* slices               # sorted by their last ticks; never changed
    cdef readonly int64_t used
    cdef void* slice_memory
    cdef Events events               # in memory of its own (event_memory), shared by reference counts
    cdef void* event_memory
    cdef readonly int64_t slices_id  # another number whenever the slices are others

    cdef SliceStream same(self)
    cdef void keep_slices(self, void* memory, int64_t used) noexcept
    cdef void keep_events(self, void* memory, Events* events) noexcept
    cdef int take_plan(self) except -1
    cdef int append(self, Batch* batch) except -1
    cdef int add_plain(self, Batch* batch) except -1
    cdef int add_moved(self, Batch* batch) except -1
    cdef int drop_before(self, int64_t start) except -1

# A stream of what a decoder read. Takes over `slices` (memory of allocate(), `used` of them, each holding one reference to
# its table) in any case: if it fails, it releases the tables and frees the memory. Copies the events (sorted by tick;
# weights NULL, or maybe all ones: then they are dropped). `events.count` may be 0, `slices` NULL if `used` is 0.
cdef SliceStream adopt(object config, int64_t levels, int64_t fresh, Slice* slices, int64_t used, Batch* events)
