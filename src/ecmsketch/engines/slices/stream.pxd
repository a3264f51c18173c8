from libc.stdint cimport int64_t, uint64_t

from ecmsketch.engines.slices.types cimport Batch, Events, Feed, Plan, Slice

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

    cdef SliceStream same(self)                                                 # another one that shares everything
    cdef int take_config(self, object config) except? -1
    cdef int check(self) except? -1
    cdef void keep_slices(self, void* memory) noexcept                          # takes the reference over
    cdef void keep_events(self, void* memory, Events* events) noexcept          # likewise
    cdef int pack(self, Batch* batch) except? -1
    cdef int append(self, Batch* batch) except? -1
    cdef int add_plain(self, Batch* batch) except? -1
    cdef int add_moved(self, Batch* batch) except? -1
    cdef int begin_draft(self, Feed* feed) except? -1
    cdef int take_draft(self, Feed* feed) except? -1
    cdef int copy_columns(self, Feed* feed, int64_t more, bint weighted) except? -1
    cdef int keep_columns(self, Feed* feed) except? -1
    cdef int drop_events(self, int64_t count) except? -1
    cdef int trim_events(self) except? -1

# A stream of what a decoder read. Takes over `slices` (memory of allocate(), `used` of them, each holding one reference to
# its table) in any case: if it fails, it releases the tables and frees the memory. Copies the events (sorted by tick;
# weights NULL, or maybe all ones: then they are dropped). `events.count` may be 0, `slices` NULL if `used` is 0.
cdef SliceStream adopt(object config, int64_t levels, int64_t fresh, Slice* slices, int64_t used, Batch* events)
