from libc.stdint cimport int64_t, uint8_t

from ecmsketch.engines.cells.samples cimport Samples

cdef int64_t most_bytes(Samples* state) noexcept nogil
cdef int64_t encode(Samples* state, int64_t now, int64_t limit, uint8_t* out) noexcept nogil
cdef int decode(uint8_t* data, int64_t size, int64_t window, int64_t most, Samples* state, int64_t* ticks) except? -1
