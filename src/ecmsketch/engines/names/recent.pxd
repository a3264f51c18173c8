from libc.stdint cimport int64_t, uint64_t

# Write the keys and ticks of RecentEvents, and their weights unless that is NULL, to memory with space for them.
cdef int unpack_recent(object recent, uint64_t* keys, int64_t* ticks, int64_t* weights) except -1
