from libc.stdint cimport int64_t, uint32_t

from ecmsketch.engines.slices.types cimport Plan, Slice

cdef struct Steps:          # ranges of equal length, one after the other
    Slice* slices
    int64_t used
    Plan* plan
    bint half
    int64_t since
    int64_t length
    int64_t count
    double* later           # arrivals of events from each step on
    int64_t rows            # of the tables' only block
    int64_t width
    double* noise           # what collisions add in single slices; nan where it is not known
    double* collisions      # what collisions add in each step, in all slices inside it,
    double* likely          # and what they rarely exceed in the sum of these

# Writes noise, collisions and likely of the steps begin .. end - 1. A delta of 0 makes `likely` infinite. False without memory.
cdef bint weigh_steps(Steps* steps, int64_t begin, int64_t end, double delta, bint wide) noexcept nogil
# One item, whose cells are one a row, in each step, if it came exact[i] times in events. False without memory.
cdef bint read_steps(Steps* steps, uint32_t* cells, double* exact, double* value, double* lower, double* upper) noexcept nogil
