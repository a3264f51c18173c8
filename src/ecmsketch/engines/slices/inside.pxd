from libc.stdint cimport int64_t

from ecmsketch.engines.slices.types cimport Batch, Plan, Slice

cdef int64_t inside_tail(Slice* slices, int64_t count, Batch* events, int64_t begin, int64_t end) noexcept nogil
cdef int64_t inside_scratch(int64_t count, int64_t events) noexcept nogil
cdef int64_t place_inside(Slice* slices, int64_t count, Batch* events, int64_t begin, int64_t tail, int64_t end, int64_t* stays, int64_t* kept, int64_t* left_out, int64_t* left_out_count, int64_t newest, Plan* plan, int64_t* scratch) noexcept nogil
