from libc.stdint cimport int64_t, uint32_t, uint64_t

from ecmsketch.engines.cells.arrivals cimport Arrivals

cdef int64_t WAVE_LEVELS

# List (cell * instances + instance) * WAVE_LEVELS + level has its ticks, oldest first, at offset .. offset + filled - 1, as
# offsets from a base. Only its newest `keep` count.
cdef struct Samples:
    void* ticks
    bint wide               # offsets have 64 bits, else 32
    int64_t* offset         # of each list, and the end of the last one
    int64_t* filled
    int64_t lists
    int64_t instances
    int64_t keep

cdef struct Draws:          # arrivals draw levels by key and number
    uint64_t key
    int64_t number          # of the last arrival before
    int64_t oldest          # counted arrivals up to this tick need not be kept
    int64_t base            # offsets count from it
    bint spread             # a weight stands for arrivals on as many ticks

cdef uint64_t random_word(uint64_t key, uint64_t number) noexcept nogil
cdef int64_t random_level(uint64_t key, int64_t number) noexcept nogil
cdef int64_t get_tick(Samples* state, int64_t at) noexcept nogil
cdef void put_tick(Samples* state, int64_t at, int64_t tick) noexcept nogil
cdef int64_t first_after(Samples* state, int64_t low, int64_t high, int64_t since) noexcept nogil
# Keeps the arrivals begin .. end - 1 of a block, or adds how many come to each list to coming.
cdef void draw(Samples* state, Arrivals arrivals, int64_t block, int64_t begin, int64_t end, Draws* draws, int64_t* coming) noexcept nogil
cdef bint new_samples(Samples* state) noexcept nogil                # sets its memory; False: there is none
cdef void free_samples(Samples* state) noexcept nogil
cdef bint make_arena(Samples* old, int64_t* coming, int64_t shift, Samples* new) noexcept nogil
cdef bint copy_samples(Samples* old, Samples* new) noexcept nogil
cdef void move_ticks(Samples* state, int64_t shift) noexcept nogil
cdef bint unite(Samples* one, Samples* other, int64_t shift, Samples* new) noexcept nogil
