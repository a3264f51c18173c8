"""The counterpart of kernels/memory.pyx for modules that run uncompiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from uncompiled.fake_cython import malloc, pointer, realloc
from uncompiled.kinds import SCALARS

fail_in = -1
asked = 0


def may_allocate() -> bool:
    global fail_in, asked
    asked += 1
    if fail_in > 0:
        fail_in -= 1
        return True
    return fail_in < 0


def allocate(size: int) -> Any:
    return malloc(size) if size >= 0 and may_allocate() else None


def reallocate(memory: Any, size: int) -> Any:
    return realloc(memory, size) if size >= 0 and may_allocate() else None


def fail_after(allocations: int) -> None:
    global fail_in
    fail_in = allocations


def allocations() -> int:
    return asked


def elements(array: Any, kind: str, letters: str) -> Any:
    view = memoryview(array)
    if not view.c_contiguous:
        raise ValueError("ndarray is not C-contiguous")
    size = SCALARS[kind].size
    if view.itemsize != size or view.format[-1:] not in letters:
        raise TypeError(f"expected a contiguous array of elements of {size} bytes, got {type(array).__name__}")
    flat = np.frombuffer(array, np.uint8) if view.nbytes else np.empty(1, np.uint8)
    found = pointer(SCALARS[kind]).cast(flat.ctypes.data)
    if not view.nbytes:
        found.keeps = flat
    return found


def bytes_of(array: Any) -> Any:
    return elements(array, "uint8_t", "Bcb?")


def int32s(array: Any) -> Any:
    return elements(array, "int32_t", "il")


def uint32s(array: Any) -> Any:
    return elements(array, "uint32_t", "IL")


def int64s(array: Any) -> Any:
    return elements(array, "int64_t", "lq")


def uint64s(array: Any) -> Any:
    return elements(array, "uint64_t", "LQ")


def doubles(array: Any) -> Any:
    return elements(array, "double", "d")
