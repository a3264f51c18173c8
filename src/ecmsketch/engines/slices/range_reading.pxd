from libc.stdint cimport int64_t

from ecmsketch.engines.slices.ranges cimport Range
from ecmsketch.engines.slices.remembered cimport PlainTables, Prepared, RangeFacts, RangeView, Remembered
from ecmsketch.engines.slices.stream cimport SliceStream
from ecmsketch.engines.slices.weighing cimport Weighing
from ecmsketch.kernels.hashing cimport Row, RowHashes

cdef int64_t MANY_EVENTS

cdef class RangeReading:
    cdef readonly SliceStream stream
    cdef list blocks            # columns of the config's blocks, and pointers to them; None until something is asked
    cdef int64_t* first
    cdef int64_t* rows
    cdef int64_t* width
    cdef int64_t* exact
    cdef int64_t block_count
    cdef bint half
    cdef bint wide              # whether all arrivals of slices need more than 31 bits
    cdef double delta           # of the config
    cdef Remembered known

    cdef int get_ready(self) except? -1
    cdef int64_t first_row(self, int64_t block) except? -1
    cdef int check_rows(self, int64_t block, RowHashes rows) except? -1
    cdef RangeFacts locate_range(self, int64_t since, int64_t until)
    cdef RangeView view_of(self, bytes roles, Range* found)
    cdef object singles_of(self, int64_t block, RangeView view, RangeFacts facts)
    cdef Prepared prepare(self, int64_t since, int64_t until, int64_t block, double delta)
    cdef object weigh_view(self, RangeView view, RangeFacts facts, int64_t block, double delta, double* likely)
    cdef PlainTables plain_tables(self, RangeView view, RangeFacts facts, int64_t reads)
    cdef PlainTables look_at(self, RangeView view, RangeFacts facts, Weighing* weighing, int64_t budget)
    cdef object items_of(self, object keys, Row* first)
    cdef object events_of(self, object keys, Row* first, RangeFacts facts)
    cdef int note_look(self, RangeFacts facts, int64_t events) except? -1
