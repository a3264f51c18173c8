from libc.stdint cimport int64_t

from ecmsketch.engines.slices.types cimport Batch, Plan, Slice
from ecmsketch.engines.slices.profile cimport SLICE_WORDS, fill_slice, share_until, weigh    # for those who cimport them from here

# Joins neighbours as far as the promises allow; returns how many slices are left. `newer` arrivals are in events.
# scratch: join_scratch(count) words of memory. The joined slice has the sources and events of its parts (low, high, begin, end).
cdef int64_t join_scratch(int64_t count) noexcept nogil
cdef int64_t join_slices(Slice* slices, int64_t count, int64_t newer, double epsilon_t, double carried, int64_t* scratch) noexcept nogil
cdef bint apart(Slice* slices, int64_t count) noexcept nogil
# spare[slot]: how many sure arrivals the moment before each slice ends can do without. False, and nothing is written, if no two slices overlap.
# scratch: spare_scratch(count) words of memory; join_scratch(count) are enough too.
cdef int64_t spare_scratch(int64_t count) noexcept nogil
cdef bint spare_arrivals(Slice* slices, int64_t count, int64_t newer, double carried, double* spare, int64_t* scratch) noexcept nogil
cdef int64_t most_slices(int64_t events, bint weighted, int64_t newest, double epsilon_t) noexcept nogil
# Makes slices of the events begin .. end - 1 as slots at .. ; events that stay are noted in stays[kept ...]. `slices` has space (most_slices).
# Returns how many slices were made; *kept is updated. They are written at `made` (a separate array of Slice), the caller inserts them.
cdef int64_t make_slices(Slice* made, Batch* events, int64_t begin, int64_t end, int64_t* stays, int64_t* kept, int64_t after, Plan* plan, double most) noexcept nogil
# Late events whose slice is full become slices beside it (was crowding.make_beside). Makes at most most_beside(*kept - known, plan) slices.
cdef int64_t most_beside(int64_t events, Plan* plan) noexcept nogil
cdef int64_t split_full_slice(Slice* slices, int64_t count, Slice* made, Batch* events, int64_t* stays, int64_t known, int64_t* kept, int64_t newer, Plan* plan) noexcept nogil
