from libc.stdint cimport int64_t, uint32_t

from ecmsketch.engines.cells.counters cimport CounterArray

cdef int64_t UNKNOWN        # start of the oldest bucket in the window: the one before it has expired

cdef struct Straddling:     # the bucket in which a range begins
    int64_t newer           # arrivals newer than it
    int64_t size            # 0: an empty range
    int64_t start
    int64_t end


cdef class BucketCounters(CounterArray):
    cdef readonly int64_t base       # ticks are offsets from it
    cdef readonly int64_t cells
    cdef readonly int64_t window
    cdef readonly bint wide          # offsets have 64 bits, else 32
    cdef readonly int64_t spread     # 1 if an event's arrivals lie on as many ticks (model="count"), else 0
    cdef double epsilon
    cdef bint half                   # estimator="half"
    cdef readonly object frozen      # Frozen, owned; the pointers are NULL if it is empty
    cdef int64_t* frozen_offset
    cdef int64_t* frozen_end
    cdef int64_t* frozen_tail

    # What a counter says about its live buckets:
    cdef int64_t arrivals_of(self, int64_t cell) noexcept nogil      # arrivals that a cell has ever seen
    cdef int64_t count_of(self, int64_t cell) noexcept nogil         # buckets stored, expired ones included
    cdef void history_of(self, int64_t cell, int64_t* ends, int64_t* sizes) noexcept nogil   # these, oldest first
    cdef void straddle(self, int64_t cell, int64_t since, int64_t limit, Straddling* found) noexcept nogil
    cdef void move_live(self, int64_t shift) noexcept nogil          # takes `shift` from every offset, in place
    cdef int64_t most_buckets(self, int64_t arrivals) noexcept nogil
    cdef int64_t stood_for(self, int64_t arrivals, int64_t buckets) noexcept nogil

    # For `reserve` and `apply` of a counter:
    cdef bint nothing_counted(self) noexcept nogil
    cdef int64_t next_base(self, int64_t oldest, int64_t now, int64_t* shift) noexcept nogil
    cdef void move_base(self, int64_t base, int64_t shift, bint moved) noexcept nogil
    cdef int check_numbers(self, int64_t* coming) except? -1

    cdef void locate(self, int64_t cell, int64_t since, int64_t limit, Straddling* found) noexcept nogil
    cdef int own(self, object frozen) except? -1
