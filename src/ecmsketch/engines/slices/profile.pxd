from libc.stdint cimport int64_t

from ecmsketch.engines.slices.types cimport Batch, Slice

cdef int64_t SLICE_WORDS    # 64-bit words of a Slice

cdef double share_until(Slice* slices, int64_t slot, int64_t tick) noexcept nogil
cdef int64_t tick_of_share(Slice* slices, int64_t slot, double share) noexcept nogil
cdef int64_t weigh(Batch* events, int64_t begin, int64_t end) noexcept nogil
cdef int64_t weight_of(Batch* events, int64_t event) noexcept nogil
cdef void fill_slice(Batch* events, int64_t begin, int64_t end, int64_t counted, Slice* target) noexcept nogil
cdef void join_group(Slice* slices, int64_t begin, int64_t end, int64_t target) noexcept nogil
cdef Batch batch_of(object ticks, object weights) except *    # for tests
