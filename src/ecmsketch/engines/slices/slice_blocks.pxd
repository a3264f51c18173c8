from libc.stdint cimport int64_t

from ecmsketch.engines.slices.types cimport Slice

cdef void* new_slices(int64_t count) noexcept nogil
cdef Slice* slices_of(void* memory) noexcept nogil
cdef int64_t slices_in(void* memory) noexcept nogil                # NULL is allowed
cdef void retain_slices(void* memory) noexcept                     # NULL is allowed; with the GIL
cdef void release_slices(void* memory) noexcept                    # likewise
cdef int64_t slices_nbytes(void* memory) noexcept nogil            # NULL is allowed
cdef void sum_tables(void* memory, int64_t words) noexcept nogil
