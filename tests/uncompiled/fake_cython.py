"""The module `cython` as uncompiled modules see it, and what they use of the C library and of CPython's interface."""

from __future__ import annotations

import ctypes
import math
import sys
import types
from typing import Any

from uncompiled import kinds
from uncompiled.kinds import SCALARS, VOID, Pointer, address_of

PREFIX = "c__cython"
"""What the module is called in `sys.modules`: others may import the real one."""
_memory: dict[int, int] = {}
"""Bytes of each piece of memory in use, by its address."""
_libc = ctypes.CDLL(None)
_libc.malloc.restype, _libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
_libc.free.argtypes = [ctypes.c_void_p]
_pointers: dict[kinds.Kind, Pointer] = {}
BYTES = Pointer(SCALARS["uint8_t"])
MEMORY = Pointer(VOID)


def pointer(kind: Any) -> kinds.Kind:
    """`cython.pointer`."""
    if not isinstance(kind, kinds.Kind):
        return kinds.OBJECT
    if kind not in _pointers:
        _pointers[kind] = Pointer(kind)
    return _pointers[kind]


class NoGil:
    """A decorator, and the context of a `with`."""

    def __call__(self, function: Any) -> Any:
        return function if callable(function) else self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


class Const:
    """`cython.const[T]` is T."""

    def __getitem__(self, kind: Any) -> Any:
        return kind


def unchanged(function: Any) -> Any:
    """A decorator that changes nothing."""
    return function


def directive(*_: Any, **__: Any) -> Any:
    """A decorator with arguments that changes nothing."""
    return unchanged


def malloc(size: int) -> Any:
    """Memory full of junk."""
    place = _libc.malloc(max(int(size), 1))
    _memory[place] = int(size)
    ctypes.memset(place, kinds.JUNK, int(size))
    return MEMORY.cast(place)


def calloc(count: int, size: int) -> Any:
    """Memory full of zeros."""
    memory = malloc(count * size)
    ctypes.memset(address_of(memory), 0, count * size)
    return memory


def realloc(memory: Any, size: int) -> Any:
    """Other memory, always: so that pointers into the old one show themselves."""
    new = malloc(size)
    if address_of(memory):
        ctypes.memmove(address_of(new), address_of(memory), min(int(size), _memory[address_of(memory)]))
        free(memory)
    return new


def free(memory: Any) -> None:
    """Give memory back, once."""
    place = address_of(memory)
    if place:
        if place not in _memory:
            raise RuntimeError("memory is freed that is not in use")
        ctypes.memset(place, kinds.JUNK, _memory.pop(place))
        _libc.free(place)


def pieces_in_use() -> int:
    """How many pieces of memory are in use."""
    return len(_memory)


def _checked(size: int, *places: Any) -> list[int]:
    found = [address_of(place) for place in places]
    if size < 0 or (size and 0 in found):
        raise RuntimeError(f"{size} bytes at NULL")
    return found


def memcpy(target: Any, source: Any, size: int) -> Any:
    """Copy memory that does not overlap."""
    one, other = _checked(size, target, source)
    if size and one < other + size and other < one + size and one != other:
        raise RuntimeError("memcpy of memory that overlaps")
    ctypes.memmove(one, other, int(size))
    return target


def memmove(target: Any, source: Any, size: int) -> Any:
    """Copy memory."""
    ctypes.memmove(*_checked(size, target, source), int(size))
    return target


def memset(target: Any, byte: int, size: int) -> Any:
    """Fill memory."""
    ctypes.memset(*_checked(size, target), byte, int(size))
    return target


def memcmp(one: Any, other: Any, size: int) -> int:
    """Compare memory."""
    first, second = (ctypes.string_at(place, int(size)) if size else b"" for place in _checked(size, one, other))
    return (first > second) - (first < second)


def new_bytes(source: Any, size: int) -> bytes:
    """`PyBytes_FromStringAndSize`."""
    make = ctypes.pythonapi.PyBytes_FromStringAndSize
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_ssize_t]
    written: bytes = make(address_of(source) or None, size)
    if not address_of(source):
        ctypes.memset(address_of(written), kinds.JUNK, size)
    return written


def log2(number: float) -> float:
    return _of_zero(math.log2, number)


def log(number: float) -> float:
    return _of_zero(math.log, number)


def _of_zero(function: Any, number: float) -> float:
    """Logarithms of C know what zero has."""
    if number > 0:
        return function(number)  # type: ignore[no-any-return]
    return -math.inf if number == 0 else math.nan


EXTERNS = {
    "__builtin_ctzll": lambda word: (word & -word).bit_length() - 1,
    "__builtin_clzll": lambda word: 64 - word.bit_length(),
    "__builtin_popcountll": lambda word: word.bit_count(),
}
"""C functions that .pxd files declare, by their names in C. What they make of zero is not said: here -1 and 64."""


def modules() -> dict[str, types.ModuleType]:
    """All modules that `import cython` and `cython.cimports` lead to, but for our own."""
    found: dict[str, types.ModuleType] = {}

    def module(name: str, **names: Any) -> None:
        name = name.replace("cython", PREFIX, 1)
        found[name] = types.ModuleType(name)
        found[name].__dict__.update(names, __path__=[])

    names: dict[str, Any] = {
        **SCALARS,
        "void": VOID,
        "p_void": MEMORY,
        "p_char": pointer(SCALARS["char"]),
        "p_double": pointer(SCALARS["double"]),
        "NULL": None,
        "compiled": False,
        "pointer": pointer,
        "cast": kinds.cast,
        "declare": kinds.declare,
        "address": kinds.address,
        "sizeof": kinds.size_of,
        "const": Const(),
        "nogil": NoGil(),
        "gil": NoGil(),
        "cfunc": unchanged,
        "ccall": unchanged,
        "inline": unchanged,
        "final": unchanged,
        "internal": unchanged,
    }
    for name in ("exceptval", "locals", "returns", "boundscheck", "wraparound", "cdivision", "initializedcheck"):
        names[name] = directive
    for name in ("freelist", "no_gc", "no_gc_clear", "binding", "embedsignature", "infer_types", "overflowcheck"):
        names[name] = directive
    module("cython", **names)
    module("cython.cimports")
    module("cython.cimports.libc")
    module("cython.cimports.cpython")
    whole = {name: kind for name, kind in SCALARS.items() if name.endswith("_t")}
    module("cython.cimports.libc.stdint", **whole, INT64_MAX=2**63 - 1, INT64_MIN=-(2**63), UINT64_MAX=2**64 - 1)
    module("cython.cimports.libc.stdlib", malloc=malloc, calloc=calloc, realloc=realloc, free=free)
    module("cython.cimports.libc.string", memcpy=memcpy, memmove=memmove, memset=memset, memcmp=memcmp)
    numbers = {name: getattr(math, name) for name in dir(math) if not name.startswith("_")}
    floors = {name: (lambda f: lambda x: float(f(x)) if math.isfinite(x) else x)(getattr(math, name))
              for name in ("floor", "ceil", "trunc")}  # fmt: skip
    floors["rint"] = lambda x: float(round(x)) if math.isfinite(x) else x
    module(
        "cython.cimports.libc.math",
        **{**numbers, **floors, "log": log, "log2": log2, "INFINITY": math.inf, "NAN": math.nan},
    )
    module("cython.cimports.cpython.exc", PyErr_CheckSignals=lambda: 0)
    module("cython.cimports.cpython.mem", PyMem_Malloc=malloc, PyMem_Free=free, PyMem_Realloc=realloc)
    module(
        "cython.cimports.cpython.bytes",
        PyBytes_FromStringAndSize=new_bytes,
        PyBytes_AS_STRING=lambda written: names["p_char"].cast(written),
        PyBytes_GET_SIZE=len,
    )
    return found


def install() -> None:
    """Let rewritten modules find these."""
    sys.modules.update(modules())
