from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef struct Section:        # the slices section of a sketch, taken apart: its numbers, and the next byte to read
    int64_t count           # events
    int64_t fresh           # events since the last block
    int64_t weighted        # 1 if some event has a weight other than 1
    int64_t slices
    int64_t at
    int64_t begin
    int64_t end

# Readers return 0, or what is wrong (bytes.py). `ticks`, `weights`, `keys`: a number for each event; `facts`: twelve for each slice;
# `scratch`: 3 * count + 2 words. weights and facts may be NULL if there are none.
cdef int64_t open_section(uint8_t* data, int64_t begin, int64_t end, int64_t block, int64_t cells, Section* section) noexcept nogil
cdef int64_t read_events(uint8_t* data, Section* section, int64_t now, int64_t window, int64_t* ticks, int64_t* weights, int64_t* facts, uint64_t* keys, uint64_t* scratch) noexcept nogil
# Writes all but the tables, in at most `most_section` bytes; returns the position after it. `scratch`: 2 * count words; weights NULL: all are one.
cdef int64_t most_section(int64_t count, int64_t slices) noexcept nogil
cdef int64_t put_section(uint8_t* out, int64_t at, int64_t now, int64_t fresh, uint64_t* keys, int64_t* ticks, int64_t* weights, int64_t count, int64_t* facts, int64_t slices, uint64_t* scratch) noexcept nogil
