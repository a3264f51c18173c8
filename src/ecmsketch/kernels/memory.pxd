from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef void* allocate(int64_t size) noexcept nogil
cdef void* reallocate(void* memory, int64_t size) noexcept nogil
cdef uint8_t* bytes_of(object array) except? NULL
cdef int32_t* int32s(object array) except? NULL
cdef uint32_t* uint32s(object array) except? NULL
cdef int64_t* int64s(object array) except? NULL
cdef uint64_t* uint64s(object array) except? NULL
cdef double* doubles(object array) except? NULL
cdef int64_t plain_column(object array, void** data, bint* is_signed) noexcept
