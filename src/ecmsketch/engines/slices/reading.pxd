from libc.stdint cimport int64_t, uint64_t

from ecmsketch.engines.slices.range_tables cimport Parts, Tables
from ecmsketch.engines.slices.ranges cimport Range
from ecmsketch.engines.slices.step_reading cimport Steps
from ecmsketch.engines.slices.stream cimport SliceStream
from ecmsketch.kernels.hashing cimport RowHashes, Row

cdef class PlainTables:
    cdef void** tables          # NULL for those that are not among them
    cdef void* memory
    cdef int64_t count          # how many are
    cdef int64_t nbytes
    cdef object base            # others, whose memory some of the tables are in

cdef class RangeView:
    cdef bytes roles
    cdef Tables tables
    cdef void* memory           # of tables.ends and tables.slots
    cdef double* noise          # by block and table; nan where it is not known
    cdef dict likely            # by block and delta
    cdef PlainTables kept
    cdef int64_t reads          # cells of each slice that were read packed since the last look at what may be kept
    cdef int64_t nbytes

cdef class RangeFacts:
    cdef readonly int64_t since
    cdef readonly int64_t until
    cdef int64_t inside         # arrivals of slices inside
    cdef int64_t cuts
    cdef int64_t* slots
    cdef double* shares
    cdef double* slack
    cdef double* most
    cdef void* memory
    cdef RangeView view
    cdef dict prepared          # by block and delta
    cdef int64_t nbytes

cdef class Prepared:
    cdef int64_t since
    cdef int64_t until
    cdef double delta
    cdef int64_t begin          # the events begin .. end - 1 lie in the range
    cdef int64_t end
    cdef double confidence
    cdef Parts parts
    cdef void* memory
    cdef RangeView view
    cdef RangeFacts range

cdef class SliceReading:
    cdef readonly SliceStream stream
    cdef object blocks          # Blocks of the config, and pointers to its columns
    cdef int64_t* first
    cdef int64_t* rows
    cdef int64_t* width
    cdef int64_t* exact
    cdef int64_t block_count
    cdef bint half
    cdef bint wide
    cdef double delta           # of the config
    cdef int64_t limit
    cdef dict views             # by roles
    cdef dict ranges            # by since and until
    cdef dict steps             # what collisions add, by since, length, steps and delta
    cdef object noise_array
    cdef double* noise          # what collisions add in single slices, by block and slot; nan where it is not known
    cdef int64_t held           # bytes of views and steps,
    cdef int64_t held_ranges    # and of ranges
    cdef Prepared last

    cdef int64_t remembered(self) noexcept
    cdef int get_ready(self) except? -1
    cdef int shrink(self, RangeView view, RangeFacts facts) except? -1
    cdef int drop_one(self, RangeView view, RangeFacts facts) except? -1
    cdef int drop_tables(self, RangeView view) except? -1
    cdef RangeFacts locate_range(self, int64_t since, int64_t until)
    cdef RangeView view_of(self, bytes roles, Range* found)
    cdef Prepared prepare(self, int64_t since, int64_t until, int64_t block, double delta)
    cdef int weigh_view(self, RangeView view, RangeFacts facts, int64_t block, double delta) except? -1
    cdef PlainTables plain_tables(self, RangeView view, RangeFacts facts, int64_t reads)
    cdef int keep(self, RangeView view, RangeFacts facts) except? -1
    cdef PlainTables all_plain(self, RangeView view)
    cdef int fill(self, RangeView view, PlainTables made) except? -1
    cdef int64_t first_row(self, int64_t block) except? -1
    cdef int check_rows(self, int64_t block, RowHashes rows) except? -1
    cdef object items_of(self, object keys, Row* first)
    cdef object events_of(self, object keys, Row* first, int64_t since, int64_t until)
    cdef object events_in_cells(self, int64_t since, int64_t until)
    cdef object split_point(self, uint64_t key, int64_t since, int64_t until, double delta)
    cdef object weigh(self, Steps* asked, double delta)
