from libc.stdint cimport int64_t

cdef struct Cut:            # columns of CutPrefixes, which the caller keeps
    int64_t* begin
    int64_t* end
    int64_t* parent
    int64_t* child
