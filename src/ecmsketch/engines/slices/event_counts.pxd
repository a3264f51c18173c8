from libc.stdint cimport int64_t, uint64_t

from ecmsketch.engines.slices.types cimport Events

# How often each key came among events in (since, until], where a key is an item without its `drop` low bits. False without memory.
cdef bint count_keys(Events* events, int64_t since, int64_t until, bint counted, uint64_t* keys, int64_t count, int64_t drop, double* values) noexcept nogil
# An item's arrivals in each of some steps of equal length after the tick `first`, and the arrivals of all items from each step on.
cdef void count_steps(Events* events, uint64_t key, int64_t first, int64_t length, int64_t steps, bint counted, double* found, double* later) noexcept nogil
# An index of the events in a range, for many questions; give it back with `free`. NULL without memory.
cdef void* new_index(Events* events, int64_t since, int64_t until, bint counted) noexcept nogil
cdef int64_t index_nbytes(void* index) noexcept nogil                        # NULL is allowed
cdef void count_by_index(void* index, uint64_t* keys, int64_t count, int64_t drop, double* values) noexcept nogil
