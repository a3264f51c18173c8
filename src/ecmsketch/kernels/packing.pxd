from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef extern from *:
    int trailing_zeros "__builtin_ctzll" (uint64_t word) noexcept nogil
    int leading_zeros "__builtin_clzll" (uint64_t word) noexcept nogil

cdef struct BitWriter:
    uint8_t* out
    int64_t at
    uint64_t held
    int64_t filled

cdef struct BitReader:
    uint8_t* data
    int64_t at
    int64_t end
    uint64_t held
    int64_t filled

cdef int64_t MAX_VARINT

cdef int64_t bits_of(uint64_t number) noexcept nogil
cdef void put_bits(BitWriter* writer, uint64_t number, int64_t bits) noexcept nogil
cdef void flush_bits(BitWriter* writer) noexcept nogil
cdef void refill(BitReader* reader) noexcept nogil
cdef int64_t put_varint(uint8_t* out, int64_t at, int64_t number) noexcept nogil
cdef int64_t get_varint(uint8_t* data, int64_t at, int64_t end, int64_t* number) noexcept nogil
cdef int64_t most_packed(int64_t count) noexcept nogil
cdef int64_t pack(uint64_t* numbers, int64_t count, uint8_t* out, uint64_t* scratch) noexcept nogil
cdef int64_t unpack(uint8_t* data, int64_t at, int64_t end, int64_t count, uint64_t* numbers, uint64_t* scratch) noexcept nogil
