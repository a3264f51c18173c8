"""The one decorator for compiled loops.

Kernels take and return arrays and typed scalars, never raise, and report trouble by a returned status.
Integers in arithmetic are int64, or uint64 in hashing, and never both: mixed, numba silently makes them float64.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import event
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

_CHECK_BOUNDS = os.environ.get("ECMSKETCH_BOUNDSCHECK") == "1"


def kernel(function: Function) -> Function:
    """Compile on first use and keep the result on disk; ECMSKETCH_BOUNDSCHECK=1 checks every index."""
    compile_on_use = numba.njit(cache=not _CHECK_BOUNDS, nogil=True, boundscheck=_CHECK_BOUNDS, error_model="numpy")
    return cast(Function, compile_on_use(function))


def inlined(function: Function) -> Function:
    """Compile into each kernel that calls it. A call that passes arrays would count references to them each time."""
    return cast(Function, numba.njit(inline="always", error_model="numpy", boundscheck=_CHECK_BOUNDS)(function))


def _trailing_zeros(typing_context: Any, number: Any) -> Any:
    """Count the zeros at the end of a positive number in binary, in one instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return numba.int64(numba.int64), generate


trailing_zeros: Any = intrinsic(_trailing_zeros)


def _leading_zeros(typing_context: Any, number: Any) -> Any:
    """Count the zeros at the beginning of a positive 64-bit number in binary, in one instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return numba.int64(numba.uint64), generate


leading_zeros: Any = intrinsic(_leading_zeros)


class _FirstCompilation(event.Listener):
    """Says once what is going on, when kernels are compiled rather than loaded from disk."""

    def __init__(self) -> None:
        self.silent = os.environ.get("ECMSKETCH_QUIET") == "1"

    def on_start(self, event: Any) -> None:
        module = event.data["dispatcher"].py_func.__module__
        if not self.silent and module.startswith("ecmsketch."):
            self.silent = True
            print(
                "ecmsketch: compiling kernels for their first use on this machine (some seconds) ...",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _FirstCompilation())  # type: ignore[no-untyped-call]
