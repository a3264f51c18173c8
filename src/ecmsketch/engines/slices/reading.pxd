from libc.stdint cimport int64_t, uint64_t

from ecmsketch.engines.slices.range_reading cimport RangeReading
from ecmsketch.engines.slices.step_reading cimport Steps

cdef class SliceReading(RangeReading):
    cdef object events_in_cells(self, int64_t since, int64_t until)
    cdef object split_point(self, uint64_t key, int64_t since, int64_t until, double delta)
    cdef object weigh_steps(self, Steps* asked, double delta)
