from libc.stdint cimport int64_t, uint64_t

from ecmsketch.engines.slices.types cimport Batch, Events

# Event i has the tick tick_of(events, i). `offsets` and `wide` need not begin at zero: events may be the later part of a block.
cdef int64_t tick_of(Events* events, int64_t i) noexcept nogil
cdef int64_t weight_of(Events* events, int64_t i) noexcept nogil
# How much of one event lies in (since, until]: all of it at its tick, or if `counted`, spread over as many ticks up to its own.
cdef int64_t part_of(int64_t tick, int64_t weight, int64_t since, int64_t until, bint counted) noexcept nogil
cdef int64_t first_after(Events* events, int64_t tick) noexcept nogil        # the first event whose tick is later, or count
# The events begin .. end - 1 that lie in (since, until], if a weight counts whole at its tick.
cdef void events_between(Events* events, int64_t since, int64_t until, int64_t* begin, int64_t* end) noexcept nogil
cdef int64_t count_key(Events* events, uint64_t key, int64_t since, int64_t until, bint counted) noexcept nogil     # was count_item
cdef int64_t count_key_among(Events* events, uint64_t key, int64_t begin, int64_t end) noexcept nogil               # was count_between
cdef int64_t arrivals_between(Events* events, int64_t since, int64_t until, bint counted) noexcept nogil            # was arrivals
# An item's events and all events in each of some steps of equal length after the tick `first` (was by_step). Both are added to.
cdef void count_by_step(Events* events, uint64_t key, int64_t first, int64_t length, int64_t steps, bint counted, double* found, double* everything) noexcept nogil
cdef void copy_ticks(Events* events, int64_t begin, int64_t end, int64_t* ticks) noexcept nogil
cdef void copy_weights(Events* events, int64_t begin, int64_t end, int64_t* weights) noexcept nogil                # with ones spelled out
cdef bint all_ones(int64_t* weights, int64_t count) noexcept nogil

# A block of memory has a count of references, and columns of events one after the other. Call these with the GIL.
cdef void retain_events(void* memory) noexcept nogil
cdef void release_events(void* memory) noexcept nogil                        # NULL is allowed
cdef int64_t events_nbytes(void* memory) noexcept nogil                      # NULL is allowed
# A new block of a batch, with space for `spare` more; *events are those in it. NULL without memory.
cdef void* pack_events(Batch* batch, int64_t spare, Events* events) noexcept nogil
# Events and more, none with weights, in the same block if that has space behind them, else in a new one. NULL without memory.
# The block is retained: give the old one back. Changes *events only.
cdef void* append_events(void* memory, Events* events, Batch* more, int64_t spare) noexcept nogil
# An xxHash64 of each column that is not empty (keys, offsets, weights) of what the events hold, however they lie in memory.
cdef tuple digest_events(Events* events)
