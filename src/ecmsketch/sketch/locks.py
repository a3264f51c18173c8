"""One lock for each sketch, so that threads may share it (docs/decisions/014-threads.md).

A thread that needs several sketches at once takes their locks in one order, the same for all threads. A process that
forks takes all of them first: so no sketch is in the middle of a change when the child gets its copy. It also waits
for kernels that are being compiled: the child could never compile one if another thread of the parent had begun to.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from threading import RLock
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar
from weakref import WeakSet

from numba.core.compiler_lock import global_compiler_lock

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Lock = Any
"""What `threading.RLock()` returns."""


class Lockable(Protocol):
    """Something with a lock of its own."""

    _lock: Lock


Owner = TypeVar("Owner", bound=Lockable)

_locks: WeakSet[Lock] = WeakSet()
_registry = RLock()
"""Held while `_locks` changes. Nobody may hold a sketch's lock while waiting for it: see `_hold_all`."""


def new_lock() -> Lock:
    """A lock that the thread which holds it may take again."""
    lock = RLock()
    with _registry:
        _locks.add(lock)
    return lock


def locked(
    method: Callable[Concatenate[Owner, Parameters], Result],
) -> Callable[Concatenate[Owner, Parameters], Result]:
    """A method that runs while its object's lock is held."""

    @wraps(method)
    def run(self: Owner, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with self._lock:
            return method(self, *args, **kwargs)

    return run


@contextmanager
def all_locked(owners: Iterable[Lockable]) -> Iterator[None]:
    """Hold the locks of several objects at once."""
    with ExitStack() as held:
        for lock in _in_order(owner._lock for owner in owners):
            held.enter_context(lock)
        yield


def _in_order(locks: Iterable[Lock]) -> list[Lock]:
    """One order for all threads: two that need the same locks cannot wait for each other."""
    return sorted(locks, key=id)


_held: list[Lock] = []


def _hold_all() -> None:
    _registry.acquire()
    for lock in _in_order(_locks):
        lock.acquire()
        _held.append(lock)
    # last: who compiles may hold a sketch's lock, and takes none meanwhile
    global_compiler_lock.acquire()  # type: ignore[no-untyped-call]


def _release_all() -> None:
    global_compiler_lock.release()  # type: ignore[no-untyped-call]
    while _held:
        _held.pop().release()
    _registry.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_all, after_in_parent=_release_all, after_in_child=_release_all)
