from libc.stdint cimport int64_t

from ecmsketch.engines.slices.types cimport Batch, Feed, Plan, Slice

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
