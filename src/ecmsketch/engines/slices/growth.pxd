from libc.stdint cimport int64_t, uint64_t

from ecmsketch.engines.slices.types cimport Batch, Plan, Slice

cdef double share_until(Slice* slices, int64_t slot, int64_t tick) noexcept nogil
cdef int64_t weigh(Batch* events, int64_t begin, int64_t end) noexcept nogil
cdef void fill_slice(Batch* events, int64_t begin, int64_t end, int64_t counted, Slice* slice) noexcept nogil
# Joins neighbours as far as the promises allow; returns how many slices are left. `newer` arrivals are in events.
# scratch: join_scratch(count) words of memory. The joined slice has the sources and events of its parts (low, high, begin, end).
cdef int64_t join_scratch(int64_t count) noexcept nogil
cdef int64_t join_slices(Slice* slices, int64_t count, int64_t newer, double epsilon_t, double carried, int64_t* scratch) noexcept nogil
cdef bint apart(Slice* slices, int64_t count) noexcept nogil
# spare[slot]: how many sure arrivals the moment before each slice ends can do without. False if no two slices overlap.
cdef bint spare_arrivals(Slice* slices, int64_t count, int64_t newer, double carried, double* spare, int64_t* scratch) noexcept nogil
cdef int64_t most_slices(int64_t events, bint weighted, int64_t newest, double epsilon_t) noexcept nogil
# Makes slices of the events begin .. end - 1 as slots at .. ; events that stay are noted in stays[kept ...]. `slices` has space (most_slices).
# Returns how many slices were made; *kept is updated. They are written at `made` (a separate array of Slice), the caller inserts them.
cdef int64_t make_slices(Slice* made, Batch* events, int64_t begin, int64_t end, int64_t* stays, int64_t* kept, int64_t after, Plan* plan, double most) noexcept nogil
# Late events whose slice is full become slices beside it (was crowding.make_beside).
cdef int64_t split_full_slice(Slice* slices, int64_t count, Slice* made, Batch* events, int64_t* stays, int64_t known, int64_t* kept, int64_t newer, Plan* plan) noexcept nogil
