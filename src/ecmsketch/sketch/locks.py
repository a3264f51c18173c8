"""One lock for each sketch, so that threads may share it (docs/decisions/014-threads.md).

A lock that is free is taken in a few nanoseconds: whoever looks at it holds the interpreter's lock. Only threads that
have to wait use a lock of the operating system, and Ctrl-C ends their wait.

A thread that needs several sketches at once takes their locks in one order, the same for all threads. A process that
forks takes all of them first: so no sketch is in the middle of a change when the child gets its copy.
"""

# mypy: ignore-errors

from __future__ import annotations

import os
from _thread import allocate_lock
from collections.abc import Callable, Iterable
from functools import wraps
from threading import RLock
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar
from weakref import ref

import cython
from cython.cimports.cpython.pythread import PyThread_get_thread_ident

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_FEW = cython.declare(cython.Py_ssize_t, 64)
_locks: list[Any] = []
"""Weak references without callbacks: one of a WeakSet is Python code, in which Ctrl-C gets lost."""
_most_locks = cython.declare(cython.Py_ssize_t, 64)
"""With more references than this those to locks that are gone are dropped."""
_registry = RLock()
"""Held while `_locks` changes. Nobody may hold a sketch's lock while waiting for it: see `_hold_all`."""


@cython.cclass
class SketchLock:
    """A lock that the thread which holds it may take again."""

    def __init__(self) -> None:
        try:
            self.turn = allocate_lock()
        except RuntimeError:
            raise MemoryError from None  # that is what it means
        self.turn.acquire()
        self.owner = self.depth = self.waiting = 0
        with _registry:
            _note(ref(self))

    @cython.ccall
    @cython.exceptval(-1, check=False)
    def acquire(self) -> cython.int:
        """Take the lock; wait for it if another thread holds it."""
        me: cython.long = PyThread_get_thread_ident()
        if self.depth and self.owner == me:
            self.depth += 1
        elif self.depth == 0 and self.waiting == 0:
            self.owner = me
            self.depth = 1
        else:
            self._wait(me)
        return 0

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _wait(self, me: cython.long) -> cython.int:
        """Wait until nobody holds the lock, and take it."""
        self.waiting += 1
        try:
            if self.depth == 0:
                self._wake_next()
            while True:
                self.turn.acquire()
                if self.depth == 0:
                    self.owner = me
                    self.depth = 1
                    return 0
        finally:
            self.waiting -= 1
            if self.depth == 0:  # an interrupt ended the wait
                self._wake_next()

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _wake_next(self) -> cython.int:
        """Let one of those who wait look again."""
        if self.waiting and self.turn.locked():
            self.turn.release()
        return 0

    @cython.ccall
    @cython.exceptval(-1, check=False)
    def release(self) -> cython.int:
        """Give the lock back."""
        self.depth -= 1
        if self.depth == 0:
            self.owner = 0
            if self.waiting:
                self._wake_next()
        return 0

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.release()


@cython.cfunc
@cython.exceptval(-1, check=False)
def _note(reference: object) -> cython.int:
    """Keep a weak reference to a lock."""
    global _locks, _most_locks
    known: list = _locks
    if len(known) >= _most_locks:
        known = [other for other in known if other() is not None]
        _locks = known
        _most_locks = max(_FEW, 2 * len(known))
    known.append(reference)
    return 0


@cython.cclass
class SeveralLocks:
    """Locks that are held together. What takes them is compiled: no signal comes while only some are noted."""

    def __init__(self, locks: list[Any]) -> None:
        self.locks = locks
        self.held = 0

    def __enter__(self) -> None:
        lock: SketchLock
        try:
            for lock in self.locks:
                lock.acquire()
                self.held += 1
        except BaseException:
            self.give_back()
            raise

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.give_back()

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def give_back(self) -> cython.int:
        """Give back those that are held."""
        lock: SketchLock
        while self.held:
            self.held -= 1
            lock = self.locks[self.held]
            lock.release()
        return 0


class Lockable(Protocol):
    """Something with a lock of its own."""

    _lock: SketchLock


Owner = TypeVar("Owner", bound=Lockable)


def locked(
    method: Callable[Concatenate[Owner, Parameters], Result],
) -> Callable[Concatenate[Owner, Parameters], Result]:
    """A method that runs while its object's lock is held."""

    @wraps(method)
    def run(self: Owner, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        lock: SketchLock = self._lock
        lock.acquire()  # `with` would allocate before it gives the lock back
        try:
            return method(self, *args, **kwargs)
        finally:
            lock.release()

    return run


def all_locked(owners: Iterable[Lockable]) -> SeveralLocks:
    """Hold the locks of several objects at once."""
    return SeveralLocks(_in_order(owner._lock for owner in owners))


def _in_order(locks: Iterable[Any]) -> list[Any]:
    """One order for all threads: two that need the same locks cannot wait for each other."""
    return sorted(locks, key=id)


_held: list[Any] = []


def _hold_all() -> None:
    _registry.acquire()
    for lock in _in_order([lock for lock in [reference() for reference in _locks] if lock is not None]):
        lock.acquire()
        _held.append(lock)


def _release_all() -> None:
    while _held:
        _held.pop().release()
    _registry.release()


def _release_in_child() -> None:
    for held in _held:
        lock: SketchLock = held
        lock.waiting = 0  # the threads that waited are not in the child
    _release_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_all, after_in_parent=_release_all, after_in_child=_release_in_child)
