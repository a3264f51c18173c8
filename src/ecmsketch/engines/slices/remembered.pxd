from libc.stdint cimport int64_t, uint8_t

from ecmsketch.engines.slices.range_tables cimport Parts, Tables
from ecmsketch.engines.slices.ranges cimport Range

cdef class PlainTables:
    cdef int64_t many
    cdef void** tables          # NULL for those that are not plain
    cdef uint8_t* sizes         # bytes of a number of each
    cdef uint8_t* mine          # 1 for those that are given back with this object
    cdef int64_t count          # how many are plain
    cdef int64_t nbytes
    cdef PlainTables base       # others, whose tables are among these

cdef class RangeView:
    cdef bytes roles
    cdef Tables tables          # `slices` and `plain` are set by those who read it
    cdef void* memory           # of tables.ends and tables.slots
    cdef dict noise             # by block: what collisions add in each table
    cdef dict likely            # by block and delta: what they rarely exceed in the sum of whole tables
    cdef PlainTables kept
    cdef int64_t reads          # cells of each slice that were read packed since the last look at what may be plain
    cdef int64_t tried          # with this limit there was no memory for more plain tables
    cdef bint remembered

cdef class RangeFacts:
    cdef int64_t since
    cdef int64_t until
    cdef int64_t inside         # arrivals of slices inside
    cdef int64_t cuts
    cdef int64_t* slots
    cdef double* shares
    cdef double* slack
    cdef double* most
    cdef void* memory
    cdef RangeView view
    cdef dict prepared          # by block and delta
    cdef void* index            # of the events in the range, or NULL
    cdef int64_t looked         # at so many events, since there is none
    cdef bint remembered

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
    cdef RangeFacts facts

cdef class Remembered:
    cdef int64_t limit
    cdef int64_t held           # bytes of all
    cdef int64_t held_ranges    # of these, bytes of ranges and what is prepared of them
    cdef dict views             # by roles
    cdef dict ranges            # by since and until
    cdef dict singles           # by block: what collisions add in single slices, nan where it is not known
    cdef dict steps             # what collisions add, by since, length, steps and delta
    cdef Prepared last          # what `one_point` asked last

    cdef int forget(self) except? -1
    cdef int forget_ranges(self) except? -1
    cdef int add_view(self, RangeView view) except? -1
    cdef int add_range(self, RangeFacts facts) except? -1
    cdef int add_prepared(self, tuple key, Prepared found) except? -1
    cdef int add_index(self, RangeFacts facts, void* index) except? -1
    cdef int add_noise(self, RangeView view, RangeFacts facts, int64_t block, object noise) except? -1
    cdef int add_likely(self, RangeView view, RangeFacts facts, tuple key, double likely) except? -1
    cdef int add_tables(self, RangeView view, RangeFacts facts, PlainTables made) except? -1
    cdef int add_singles(self, RangeView view, RangeFacts facts, int64_t block, object noise) except? -1
    cdef int add_steps(self, tuple key, object weights) except? -1
    cdef int64_t spare(self, RangeView view, RangeFacts facts) noexcept
    cdef int shrink(self, RangeView view, RangeFacts facts) except? -1
    cdef bint drop_one(self, RangeView view, RangeFacts facts) except? -1
    cdef int drop_tables(self, RangeView view) except? -1
    cdef int drop_range(self, RangeFacts facts) except? -1
    cdef int drop_view(self, RangeView view) except? -1

cdef PlainTables new_plain(int64_t many, PlainTables base)
cdef RangeView new_view(bytes roles, Range* found, int64_t words, bint wide)
cdef RangeFacts new_facts(Range* found, RangeView view)
cdef Prepared new_prepared(RangeFacts facts, double* noise, double likely, double delta)
