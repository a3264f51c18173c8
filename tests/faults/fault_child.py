"""Lets operations fail in the middle and looks at what is left: `fault_child.py COUNTER FAULT POINTS SEED OPERATION...`

FAULT is what happens: `interrupt`, a KeyboardInterrupt at a random moment; `allocate`, the library's own allocations
fail from the n-th on; `python`, the n-th allocation of Python's objects fails. A JSON line before and after each
operation tells the parent process where this one crashed or hung.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import sys
import time
from threading import Thread
from typing import Any

import fault_operations
from fault_operations import Operation, state_of, told

MOST_TRIES = 10
"""Points that are tried for each that is wanted: some come after the last call."""


class Point:
    """One operation with one fault in it."""

    def __init__(self, operation: Operation):
        self.operation = operation
        self.sketches = operation.start()
        self.at = 0
        self.numbers = list(range(operation.calls))  # so that nothing is allocated between calls

    def work(self) -> None:
        call, sketches = self.operation.call, self.sketches
        for i in self.numbers:
            self.at = i
            call(sketches, i)


class Replays:
    """The states that an operation may leave, found by doing it without a fault."""

    def __init__(self, operation: Operation):
        self.operation = operation
        self.known: dict[int, list[bytes]] = {}
        self.answers: dict[int, str] = {}

    def after(self, calls: int) -> list[bytes]:
        if not self.operation.changes:
            calls = 0
        if calls not in self.known:
            sketches = self.operation.start()
            for i in range(calls):
                self.operation.call(sketches, i)
            self.known[calls] = state_of(sketches)
        return self.known[calls]

    def answer(self, call: int) -> str:
        if call not in self.answers:
            self.answers[call] = told(self.operation.call(self.operation.start(), call))
        return self.answers[call]


def waits(sketches: list[Any]) -> bool:
    """Whether another thread that uses the sketches has to wait for ever."""
    other = Thread(target=lambda: [sketch.total() for sketch in sketches], daemon=True)
    other.start()
    other.join(20)
    return other.is_alive()


def look(point: Point, replays: Replays, again: bool) -> str | None:
    """What is wrong with the sketches after a fault. `again`: the call may be done again, so it changed nothing."""
    operation, at = point.operation, point.at
    if waits(point.sketches):
        return f"call {at} leaves a sketch locked"
    for sketch in point.sketches:
        if not sketch.total().lower <= sketch.total().upper:
            return "total() has bounds that no number lies between"
    state = state_of(point.sketches)
    if state == replays.after(at):
        go_on = at
    elif again:
        return f"call {at}: the state is not the one before"
    elif state == replays.after(at + 1):
        go_on = at + 1
    else:
        return f"call {at}: the state is neither the one before nor the one after it"
    if not operation.changes:
        found = told(operation.call(point.sketches, at))
        return None if found == replays.answer(at) else f"call {at} gives another answer when it is repeated"
    end = min(operation.calls, go_on + 40)
    for i in range(go_on, end):
        operation.call(point.sketches, i)
    return (
        None if state_of(point.sketches) == replays.after(end) else f"going on after call {at} leads to another state"
    )


class Interrupts:
    """A signal whose handler raises KeyboardInterrupt."""

    expected = KeyboardInterrupt

    def __init__(self, operation: Operation, rng: random.Random):
        self.rng = rng
        signal.signal(signal.SIGALRM, self._raise)
        rounds = []
        for _ in range(4):  # the first one imports, and others may be slow because of what else the machine does
            point = Point(operation)
            begin = time.perf_counter()
            point.work()
            rounds.append(time.perf_counter() - begin)
        self.took = min(rounds)

    @staticmethod
    def _raise(*_: Any) -> None:
        raise KeyboardInterrupt

    def run(self, point: Point, tried: int) -> None:
        try:
            signal.setitimer(signal.ITIMER_REAL, max(self.rng.uniform(0, self.took), 2e-6))
            point.work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


class Allocations:
    """The library's own allocations fail, from one of them on."""

    expected = MemoryError

    def __init__(self, operation: Operation, rng: random.Random):
        from ecmsketch.kernels import memory

        self.rng, self.memory = rng, memory
        point = Point(operation)
        before = memory.allocations()
        point.work()
        self.count = memory.allocations() - before

    def run(self, point: Point, tried: int) -> None:
        few = tried if tried < 8 else self.rng.randrange(max(self.count, 1))
        self.memory.fail_after(few)
        try:
            point.work()
        finally:
            self.memory.fail_after(-1)


class PythonAllocations:
    """One allocation of Python's fails."""

    expected = MemoryError

    def __init__(self, operation: Operation, rng: random.Random):
        import _testcapi

        self.rng, self.hooks, self.count = rng, _testcapi, 1
        Point(operation).work()
        while self.count < 2**20:
            try:
                self.run_at(Point(operation), self.count)
            except Exception:
                self.count *= 2
            else:
                break

    def run_at(self, point: Point, number: int) -> None:
        self.hooks.set_nomemory(number, number + 1)
        try:
            point.work()
        finally:
            self.hooks.remove_mem_hooks()

    def run(self, point: Point, tried: int) -> None:
        even = self.rng.random() < 0.5
        number = self.rng.randrange(self.count) if even else int(self.count ** self.rng.random()) - 1
        self.run_at(point, number)


FAULTS = {"interrupt": Interrupts, "allocate": Allocations, "python": PythonAllocations}


def from_elsewhere(error: Exception) -> bool:
    """Whether numpy or pickle fails without saying MemoryError, as they do in places. The state must be whole all the
    same.
    """
    text = str(error)
    if isinstance(error, ValueError):
        return text == "out of memory" or text.startswith("Iterator operand was NULL")
    if isinstance(error, pickle.PicklingError):
        return text.endswith("failed")
    return isinstance(error, SystemError) and "without" in text and "exception" in text


def outcome(operation: Operation, fault: str, points: int, seed: int) -> dict[str, Any]:
    """How often an operation was stopped, and what was wrong then."""
    rng = random.Random(f"{seed} {operation.name}")
    faults, replays, wrong, hit = FAULTS[fault](operation, rng), Replays(operation), [], 0
    for tried in range(MOST_TRIES * points):
        if hit >= points:
            break
        point, again = Point(operation), False
        try:
            faults.run(point, tried)
        except faults.expected as error:
            hit, again = hit + 1, isinstance(error, MemoryError)
        except Exception as error:
            if not (fault == "python" and from_elsewhere(error)):
                wrong.append(f"call {point.at} raises {type(error).__name__}: {error}")
            hit += 1
        try:
            found = look(point, replays, again)
        except Exception as error:
            found = f"after call {point.at} was stopped, {type(error).__name__}: {error}"
        if found is not None:
            wrong.append(found)
    return {"hit": hit, "wrong": len(wrong), "examples": [text[:300] for text in dict.fromkeys(wrong)][:3]}


def main() -> None:
    counter, fault, points, seed, *names = sys.argv[1:]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    known: dict[str, Operation] = fault_operations.operations(counter)
    for name in names:
        out.write(json.dumps({"begins": name}) + "\n")
        out.flush()
        out.write(json.dumps({"ends": name, **outcome(known[name], fault, int(points), int(seed))}) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
