from libc.stdint cimport int64_t

from ecmsketch.engines.slices.range_tables cimport Tables

# Memory that `weigh_tables` needs for such tables of so many slices.
cdef int64_t weighing_nbytes(int64_t words, bint wide, int64_t slices) noexcept nogil
# Writes noise[t] of each table where it is nan, by the block of rows x width cells from `first` on; also into `singles`, by slot,
# what collisions add in single slices, where that is nan. `likely` is what collisions in the sum of whole tables exceed with
# probability `delta`: infinite for a delta of 0, and not looked for if `likely` is NULL. False without memory.
cdef bint weigh_tables(Tables* tables, int64_t first, int64_t rows, int64_t width, double delta, double* singles, double* noise, double* likely, void* memory) noexcept nogil
