from libc.stdint cimport int64_t, uint32_t

from ecmsketch.engines.cells.buckets cimport Straddling

# Ticks of all cells as offsets from a base, cell after cell. Level j has the places j * ring .. (j + 1) * ring - 1 of a cell.
cdef struct Rings:
    void* ticks
    bint wide               # offsets have 64 bits, else 32
    int64_t* arrivals       # per cell: the number of the newest arrival
    int64_t cells
    int64_t ring
    int64_t top
    int64_t places          # of one cell: (top + 2) * ring

cdef struct Kept:           # a kept arrival: those of its level lie 2^level apart
    int64_t number
    int64_t level

cdef int64_t get_tick(Rings* rings, int64_t cell, int64_t place) noexcept nogil
cdef void put_tick(Rings* rings, int64_t cell, int64_t place, int64_t tick) noexcept nogil
cdef int64_t last_lost(int64_t arrivals, int64_t ring, int64_t top) noexcept nogil
cdef int64_t lowest_kept(int64_t arrivals, int64_t buckets, int64_t ring) noexcept nogil
cdef void put_history(Rings* rings, int64_t cell, int64_t* ends, int64_t buckets) noexcept nogil
cdef int64_t get_history(Rings* rings, int64_t cell, int64_t* ends, int64_t* sizes) noexcept nogil
cdef int64_t count_history(Rings* rings, int64_t cell) noexcept nogil
cdef void find_straddling(Rings* rings, int64_t cell, int64_t since, int64_t limit, Straddling* found) noexcept nogil
cdef void push(Rings* rings, uint32_t* cells, int64_t* ticks, int64_t count, int64_t base) noexcept nogil
cdef void push_weighted(Rings* rings, uint32_t* cells, int64_t* ticks, int64_t* weights, int64_t count, int64_t spread, int64_t base) noexcept nogil
cdef int64_t levels_needed(Rings* rings, int64_t top, int64_t* coming, int64_t limit, int64_t* lost) noexcept nogil
cdef bint all_expired(uint32_t* cells, int64_t* ticks, int64_t* weights, int64_t count, int64_t* lost, int64_t spread, int64_t limit) noexcept nogil
