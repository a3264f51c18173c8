"""Gives memory back that a version of a store took and the next one does not: else the process only ever grows.

The C library keeps what was freed, in an arena for every thread, and so does Arrow in its own pool.
"""

from __future__ import annotations

import ctypes

import pyarrow as pa

_ARENA_MAX = -8
"""The name of this setting in the GNU C library's malloc.h."""
_ARENAS = 2


def use_few_arenas() -> None:
    """Let all threads share two heaps. Without it each has one of its own, with holes of its own."""
    _call("mallopt", _ARENA_MAX, _ARENAS)


def give_back() -> None:
    """Return to the system what is not in use. It takes some milliseconds."""
    pa.default_memory_pool().release_unused()
    _call("malloc_trim", 0)


def _call(name: str, *given: int) -> None:
    """Call a function of the C library, where there is one of this name."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function(*given)
