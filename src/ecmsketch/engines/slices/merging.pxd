from libc.stdint cimport int64_t

from ecmsketch.engines.slices.types cimport Feed, Part

# 1 if all is done, 0 without memory, -1 if there are more arrivals than can be counted. With the GIL: it shares tables.
cdef int gather_slices(Feed* feed, Part* parts, int64_t count, int64_t limit) noexcept
# These return 1, or 0 without memory.
cdef int gather_events(Feed* feed, Part* parts, int64_t count, int64_t limit) noexcept nogil
cdef int join_gathered(Feed* feed) noexcept nogil
