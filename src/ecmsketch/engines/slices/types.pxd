"""Structs and fused types that the modules of this engine share."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from ecmsketch.kernels.hashing cimport Row

ctypedef fused Cell:
    int32_t
    int64_t

cdef struct Slice:
    int64_t first           # first and last tick
    int64_t last
    int64_t arrivals
    int64_t knots[7]        # the ticks by which one eighth to seven eighths of the arrivals had come
    uint64_t* table         # its counts, packed and never changed (tables.py); NULL while a slice is only planned
    int64_t low             # while a stream is fed: the slice consists of the tables low .. high - 1 of a list of sources
    int64_t high
    int64_t begin           # and of the events begin .. end - 1, which are not counted yet
    int64_t end

cdef struct Plan:           # when events become slices, and how many arrivals a slice may have
    int64_t recent          # newest events that stay as they are
    int64_t block           # events after which older ones become slices
    int64_t window
    int64_t counted         # 1 if ticks number arrivals, else 0
    double epsilon_t
    double carried          # epsilon_t after the levels of merging behind the slices
    int64_t cells
    int64_t words           # 64-bit words of one plane of two bits: (cells + 31) // 32
    int64_t depth           # rows of `rows`
    Row* rows

cdef struct Events:         # sorted by tick; event i has the tick base + its offset
    uint64_t* keys
    int64_t base
    uint32_t* offsets       # NULL if `wide` has them, or if there are none: then it is base + i
    int64_t* wide
    int64_t* weights        # NULL: all are one
    int64_t count

cdef struct Batch:          # plain columns of events while they are counted; weights NULL: all are one
    uint64_t* keys
    int64_t* ticks
    int64_t* weights
    int64_t count

cdef struct Feed:         # what feeding.py works on
    Plan plan
    Slice* slices           # a draft of the slices; their tables are those of `sources`, but while they are counted
    int64_t used
    int64_t capacity
    uint64_t** sources      # tables of which slices consist: low .. high - 1
    int64_t source_count
    int64_t source_capacity
    uint64_t** shared       # tables that others have too: their references are given up with the GIL
    int64_t shared_count
    Events* packed          # the first `known` of the events that are fed; none where events move
    int64_t known
    uint64_t* keys          # the others
    int64_t* ticks
    int64_t* weights        # NULL: all are one
    int64_t start           # the events start .. end - 1 are taken in and stay events
    int64_t end
    int64_t arrivals        # of these, if events may move
    int64_t fresh           # events since the last block became slices
    int64_t counted         # slices that are counted already
    int64_t work            # about how many nanoseconds were worked since signals were looked at
    int64_t* left_out       # events of `stays` that no slice counts though it covers their place
    int64_t left_out_count
    int64_t* stays
    int64_t stays_words
    int64_t* scratch
    int64_t scratch_words
    uint64_t* cells         # memory to count in
    void* columns           # memory of keys, ticks and weights if they are copies

cdef struct Part:         # what a stream holds, while several are united
    Slice* slices
    int64_t used
    Events* events
