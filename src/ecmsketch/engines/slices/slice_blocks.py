"""Blocks of slices: what streams share. A block has a reference to the table of each of its slices.

A block is [references, how many slices, bytes of their tables], and then the slices. It is filled once, and never
changed.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
from cython.cimports.ecmsketch.engines.slices.profile import SLICE_WORDS
from cython.cimports.ecmsketch.engines.slices.tables import release, table_nbytes
from cython.cimports.ecmsketch.engines.slices.types import Slice
from cython.cimports.ecmsketch.kernels.memory import allocate
from cython.cimports.libc.stdint import int64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memset

HEAD = cython.declare(int64_t, 3)
"""Words before the slices."""
REFERENCES = cython.declare(int64_t, 0)
COUNT = cython.declare(int64_t, 1)
TABLES = cython.declare(int64_t, 2)


@cython.cfunc
@cython.nogil
def new_slices(count: int64_t) -> cython.p_void:
    """A block for so many slices, with one reference; NULL without memory. Its slices have no tables yet."""
    head: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), allocate(8 * (HEAD + SLICE_WORDS * count)))
    if head == cython.NULL:
        return cython.NULL
    memset(head, 0, cython.cast(cython.size_t, 8 * (HEAD + SLICE_WORDS * count)))
    head[REFERENCES], head[COUNT], head[TABLES] = 1, count, 0
    return cython.cast(cython.p_void, head)


@cython.cfunc
@cython.nogil
def slices_of(memory: cython.p_void) -> cython.pointer(Slice):
    """The slices of a block."""
    return cython.cast(cython.pointer(Slice), cython.cast(cython.pointer(int64_t), memory) + HEAD)


@cython.cfunc
def retain_slices(memory: cython.p_void) -> cython.void:
    """Count one more reference."""
    if memory != cython.NULL:
        cython.cast(cython.pointer(int64_t), memory)[REFERENCES] += 1


@cython.cfunc
def release_slices(memory: cython.p_void) -> cython.void:
    """Count one reference less; the last one takes the slices along, and their references to tables."""
    head: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), memory)
    slices: cython.pointer(Slice)
    i: int64_t
    if memory == cython.NULL:
        return
    head[REFERENCES] -= 1
    if head[REFERENCES] == 0:
        slices = slices_of(memory)
        for i in range(head[COUNT]):
            release(slices[i].table)
        free(memory)


@cython.cfunc
@cython.nogil
def slices_nbytes(memory: cython.p_void) -> int64_t:
    """Bytes of a block and its tables."""
    head: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), memory)
    if memory == cython.NULL:
        return 0
    return 8 * (HEAD + SLICE_WORDS * head[COUNT]) + head[TABLES]


@cython.cfunc
@cython.nogil
def sum_tables(memory: cython.p_void, words: int64_t) -> cython.void:
    """Note how many bytes the tables of a block take."""
    head: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), memory)
    slices: cython.pointer(Slice) = slices_of(memory)
    total: int64_t = 0
    i: int64_t
    for i in range(head[COUNT]):
        total += table_nbytes(slices[i].table, words)
    head[TABLES] = total


@cython.cfunc
@cython.nogil
def slices_in(memory: cython.p_void) -> int64_t:
    """How many slices a block has."""
    return 0 if memory == cython.NULL else cython.cast(cython.pointer(int64_t), memory)[COUNT]
