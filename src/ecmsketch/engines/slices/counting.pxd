from libc.stdint cimport int64_t

from ecmsketch.engines.slices.types cimport Feed

cdef void own_source(Feed* feed, int64_t slot) noexcept nogil
cdef bint count_all(Feed* feed) noexcept nogil
cdef int count_some(Feed* feed, int64_t patience) noexcept nogil
cdef int64_t weigh_fed(Feed* feed, int64_t begin, int64_t end) noexcept nogil
