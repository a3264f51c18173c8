"""Memory of kernels: allocation that tests can let fail, and pointers to the elements of arrays.

This is the one module that cannot run uncompiled: tests/uncompiled has its counterpart. A pointer is good while its
array lives, so callers keep the array in a variable. Kernels write only to arrays that they made.
"""

from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport malloc, realloc
from libc.string cimport strchr, strlen

cdef int64_t fail_in = -1
cdef int64_t asked = 0


cdef bint may_allocate() noexcept nogil:
    global fail_in, asked
    asked += 1
    if fail_in < 0:
        return True
    if fail_in > 0:
        fail_in -= 1
        return True
    return False


cdef void* allocate(int64_t size) noexcept nogil:
    """Memory of so many bytes, or NULL. Give it back with `free` of libc."""
    if size < 0 or not may_allocate():
        return NULL
    return malloc(<size_t>size if size else 1)


cdef void* reallocate(void* memory, int64_t size) noexcept nogil:
    """The same memory in another size, or NULL: then the old memory stays as it is."""
    if size < 0 or not may_allocate():
        return NULL
    return realloc(memory, <size_t>size if size else 1)


def fail_after(allocations):
    """For tests: let so many allocations succeed and all later ones fail; -1 lets all succeed."""
    global fail_in
    fail_in = allocations


def allocations():
    """For tests: how many allocations were asked for since the start."""
    return asked


cdef void* elements(object array, Py_ssize_t size, const char* letters) except? NULL:
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    cdef void* found = view.buf
    cdef bint right = view.itemsize == size
    cdef size_t length
    if right and view.format != NULL:
        length = strlen(view.format)
        right = length > 0 and strchr(letters, view.format[length - 1]) != NULL
    PyBuffer_Release(&view)
    if not right:
        raise TypeError(f"expected a contiguous array of elements of {size} bytes, got {type(array).__name__}")
    return found


cdef uint8_t* bytes_of(object array) except? NULL:
    """The bytes of an array of uint8, bytes, or a memoryview of these."""
    if type(array) is bytes:
        return <uint8_t*>PyBytes_AS_STRING(array)
    return <uint8_t*>elements(array, 1, b"Bcb?")


cdef int32_t* int32s(object array) except? NULL:
    return <int32_t*>elements(array, 4, b"il")


cdef uint32_t* uint32s(object array) except? NULL:
    return <uint32_t*>elements(array, 4, b"IL")


cdef int64_t* int64s(object array) except? NULL:
    return <int64_t*>elements(array, 8, b"lq")


cdef uint64_t* uint64s(object array) except? NULL:
    return <uint64_t*>elements(array, 8, b"LQ")


cdef double* doubles(object array) except? NULL:
    return <double*>elements(array, 8, b"d")


cdef int64_t plain_column(object array, void** data, bint* is_signed) noexcept:
    """The length of a contiguous column of 64-bit integers, or -1 if an array is anything else."""
    cdef Py_buffer view
    cdef int64_t length = -1
    try:
        PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    except Exception:
        return -1
    if view.ndim == 1 and view.itemsize == 8 and view.format != NULL and view.format[1] == 0:
        if view.format[0] in (b"l", b"q"):
            is_signed[0] = True
            length = view.shape[0]
        elif view.format[0] in (b"L", b"Q"):
            is_signed[0] = False
            length = view.shape[0]
        data[0] = view.buf
    PyBuffer_Release(&view)
    return length
