from libc.stdint cimport int64_t

from ecmsketch.engines.slices.types cimport Cell

# A block of a table is rows x width plain cells, from `cells` on.
cdef double expected_collision(Cell* cells, int64_t rows, int64_t width) noexcept nogil          # negative without memory
cdef int64_t least_exceeded(Cell* cells, int64_t rows, int64_t width, double delta) noexcept nogil
