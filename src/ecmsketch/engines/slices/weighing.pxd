from libc.stdint cimport int64_t, uint8_t, uint64_t

from ecmsketch.engines.slices.range_tables cimport Tables

cdef struct Weighing:       # looking at all cells of the tables of a range
    int64_t first           # the block whose collisions are asked: its first cell,
    int64_t rows            # rows, none if nothing is asked,
    int64_t width
    double* singles         # what collisions add in single slices, by slot; nan where it is not known
    double* noise           # what they add in each table; nan where it is not known
    double delta            # what they exceed in the sum of whole tables with this probability is asked, unless it is 0
    double likely
    void** plain            # tables that are kept in plain numbers, and those that stay so; NULL if none are to be
    uint8_t* sizes
    int64_t budget          # bytes of those that are added
    int64_t spent
    int64_t added

# Looks at each table, in that order. False without memory. What was added to `plain` before that stays.
cdef bint weigh_tables(Tables* tables, int64_t* order, Weighing* weighing) noexcept nogil
