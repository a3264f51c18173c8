from libc.stdint cimport int64_t, uint64_t

from ecmsketch.engines.slices.types cimport Batch, Events, Plan, Slice

cdef struct Feed:
    Plan plan
    Slice* slices           # a draft of the slices; their tables are those of `sources`, but while they are counted
    int64_t used
    int64_t capacity
    uint64_t** sources      # tables of which slices consist: low .. high - 1
    int64_t source_count
    int64_t source_capacity
    uint64_t** shared       # tables that others have too: their references are given up with the GIL
    int64_t shared_count
    Events* packed          # the first `known` of the events that are fed; none where events move
    int64_t known
    uint64_t* keys          # the others
    int64_t* ticks
    int64_t* weights        # NULL: all are one
    int64_t start           # the events start .. end - 1 are taken in and stay events
    int64_t end
    int64_t arrivals        # of these, if events may move
    int64_t fresh           # events since the last block became slices
    int64_t counted         # slices that are counted already
    int64_t work            # about how many nanoseconds were worked since signals were looked at
    int64_t* left_out       # events of `stays` that no slice counts though it covers their place
    int64_t left_out_count
    int64_t* stays
    int64_t stays_words
    int64_t* scratch
    int64_t scratch_words
    uint64_t* cells         # memory to count in
    void* columns           # memory of keys, ticks and weights if they are copies

cdef void clear_feed(Feed* feed, Plan* plan) noexcept nogil         # first of all
cdef bint begin_feed(Feed* feed, int64_t slices) noexcept nogil     # only if slices are drafted
cdef void take_slice(Feed* feed, Slice* slice) noexcept            # with the GIL; there is space for it
cdef void end_feed(Feed* feed) noexcept                            # with the GIL; gives everything back
# These return 1 if all is done, 0 if signals should be looked at before they go on, and -1 without memory.
cdef int absorb(Feed* feed, int64_t total) noexcept nogil
cdef int absorb_late(Feed* feed, Batch* late, int64_t* at) noexcept nogil
cdef int count_slices(Feed* feed) noexcept nogil
cdef bint age_moved(Feed* feed) noexcept nogil
cdef bint join_draft(Feed* feed, int64_t newer) noexcept nogil
cdef void* finished_slices(Feed* feed) noexcept nogil              # a block of the slices, which the feed gives away; NULL without memory

cdef int64_t BLOCK_HEAD     # words before the slices of a block
cdef void* new_slices(int64_t count) noexcept nogil
cdef Slice* slices_of(void* memory) noexcept nogil
cdef void retain_slices(void* memory) noexcept
cdef void release_slices(void* memory) noexcept                    # NULL is allowed
cdef int64_t slices_nbytes(void* memory) noexcept nogil
cdef void sum_tables(void* memory, int64_t words) noexcept nogil
