from libc.stdint cimport int64_t, uint8_t, uint64_t

from ecmsketch.engines.slices.bytes cimport Section
from ecmsketch.sketch.header cimport Numbers

cdef struct SmallSketch:    # a sketch that consists of events, as far as its bytes were read
    uint8_t* data
    Numbers numbers
    Section section         # where its events begin
    int64_t kinds_at
    int64_t number          # of its kinds of items

cdef class BytesTemplate:
    cdef bytes prefix       # envelope and config
    cdef bytes kinds
    cdef uint8_t* prefix_data
    cdef int64_t prefix_size
    cdef uint8_t* kinds_data
    cdef int64_t kinds_size
    cdef int64_t window
    cdef int64_t block
    cdef int64_t cells

cdef class Workspace:
    cdef void* memory
    cdef int64_t size
    cdef uint64_t* keys
    cdef int64_t* ticks
    cdef uint64_t* scratch
    cdef uint8_t* out
    cdef bint reserve(self, int64_t events, int64_t other) noexcept nogil

cdef class EventSketchWriter:
    cdef BytesTemplate template
    cdef Workspace work

cdef class SketchColumn:
    cdef readonly object config
    cdef object data
    cdef readonly object simple     # which sketches are small, and whole; the others have to be loaded
    cdef list kinds
    cdef SmallSketch* known
    cdef int64_t count
    cdef object find_kinds(self, uint8_t* good)
