"""SliceStream: sequences give the slices, tables and events that they gave when they were recorded, however they are
cut; forks share and never change; what fails changes nothing.

Digests of the sequences are in vectors/slice_streams.json. They were recorded from the first implementation, of which
nothing is left, so another one has to come to the same streams bit by bit.
"""

from __future__ import annotations

import ctypes
import gc
import json
import signal
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from ecmsketch.config import SketchConfig
from ecmsketch.engines.slices.events import read_events
from ecmsketch.engines.slices.stream import SliceStream
from ecmsketch.kernels.memory import allocations, fail_after

CONFIGS = {
    "wide": {"epsilon": 0.3, "window": 10_000},
    "short window": {"epsilon": 0.1, "window": 300},
    "long window": {"epsilon": 0.1, "window": 10**9},
    "fine": {"epsilon": 0.03, "window": 50_000},
    "finer": {"epsilon": 0.01, "window": 10**6},
    "resolution": {"epsilon": 0.05, "resolution": 0.2, "window": 20_000},
    "coarse": {"epsilon": 0.3, "resolution": 0.9, "window": 30_000},
    "merging": {"epsilon": 0.2, "merge_depth": 2, "window": 10_000},
}


def config_of(name: str, **changes) -> SketchConfig:
    return SketchConfig(**{"delta": 0.1, "late": "side", **CONFIGS[name], **changes})


def contents_of(stream: SliceStream) -> tuple:
    keys, ticks, weights = stream.events_columns()
    tables = [stream.table(slot).tolist() for slot in range(stream.slice_count)]
    return (
        stream.fresh, stream.levels, stream.facts().tolist(), tables, keys.tolist(), ticks.tolist(),
        None if weights is None else weights.tolist(),
    )  # fmt: skip


RECORDED = json.loads((Path(__file__).parents[1] / "vectors" / "slice_streams.json").read_text())


def digest(all_contents: list[tuple]) -> str:
    """A few letters for what some streams hold."""
    return sha256(json.dumps(all_contents).encode()).hexdigest()[:16]


class Feeding:
    """One stream, and how it is fed at random."""

    def __init__(self, config: SketchConfig, rng: np.random.Generator) -> None:
        self.config, self.rng, self.now = config, rng, int(rng.integers(-1000, 10**6))
        self.stream = SliceStream(config)

    def arrivals(self, count: int, heavy: bool) -> tuple:
        """Random keys, and weights or none."""
        keys = self.rng.zipf(1.3, count).astype(np.uint64)
        how = self.rng.integers(0, 4)
        if how == 0 and heavy:
            weights = self.rng.integers(1, 5, count)
            some = self.rng.random(count) < 0.01
            weights[some] = self.rng.integers(1, int(self.rng.choice([50, 5000, 2**33])), some.sum())
        elif how == 1 and heavy:
            weights = np.ones(count, np.int64)
        else:
            weights = None
        return keys, weights

    def add(self, count: int, heavy: bool = True) -> None:
        keys, weights = self.arrivals(count, heavy)
        if self.config.model == "count":
            ticks = self.now + (np.arange(1, count + 1) if weights is None else np.cumsum(weights))
        else:
            pace = self.rng.choice([0.01, 0.2, 1, 3])
            ticks = self.now + np.sort(self.rng.integers(0, int(count * pace) + 2, count))
        if self.rng.random() < 0.05 and self.config.model != "count":
            ticks = ticks + self.rng.choice([self.config.window // 2, self.config.window, 2**33])
        if count:
            self.now = int(ticks[-1])
        self.feed(keys, ticks.astype(np.int64), weights)

    def feed(self, keys, ticks, weights) -> None:
        self.stream = self.stream.fork()
        self.stream.add(keys, ticks, weights)

    def add_late(self, count: int, heavy: bool = True) -> None:
        keys, weights = self.arrivals(count, heavy)
        back = min(self.config.window - 1, int(self.rng.choice([10, 1000, 10**6])))
        ticks = self.now - self.rng.integers(0, back + 1, count)
        if self.rng.random() < 0.3:
            ticks = np.full(count, self.now - self.rng.integers(0, back + 1))
        ticks = np.sort(ticks).astype(np.int64)
        self.stream = self.stream.fork()
        self.stream.add_late(keys, ticks, weights, self.now)

    def shift(self, ticks: int) -> None:
        self.stream, self.now = self.stream.shifted(ticks), self.now + ticks

    def forget(self) -> None:
        limit = self.now - self.config.window + int(self.rng.integers(0, self.config.window))
        self.stream = self.stream.fork()
        self.stream.forget(limit)

    def step(self) -> None:
        most = self.config.recent + 2 * self.config.block
        how = self.rng.random()
        if how < 0.35:
            self.add(int(self.rng.integers(0, 300)))
        elif how < 0.6:
            self.add(int(self.rng.integers(1, most)))
        elif how < 0.65:
            self.add(int(self.rng.integers(1, 6 * most)), heavy=False)
        elif how < 0.75 and self.config.model != "count":
            self.add_late(int(self.rng.integers(1, 50)))
        elif how < 0.85 and self.config.model != "count":
            self.add_late(int(self.rng.integers(1, most)))
        elif how < 0.9:
            self.shift(int(self.rng.integers(0, 1000)))
        elif how < 0.95:
            self.forget()
        else:
            self.add(1)


@pytest.mark.parametrize("model", ["time", "count"])
@pytest.mark.parametrize("name", CONFIGS)
def test_any_sequence_gives_the_recorded_stream(name, model):
    for seed in range(6):
        rng = np.random.default_rng((seed, len(name)))
        feeding, seen = Feeding(config_of(name, model=model), rng), []
        for _ in range(25):
            feeding.step()
            seen.append(contents_of(feeding.stream))
        assert digest(seen) == RECORDED[f"any {name} {model} {seed}"]


@pytest.mark.parametrize("name", CONFIGS)
def test_without_weights_and_late_events(name):
    for seed in range(4):
        rng = np.random.default_rng((seed, len(name)))
        feeding, seen = Feeding(config_of(name), rng), []
        for _ in range(30):
            feeding.add(int(rng.integers(1, feeding.config.block * 3)), heavy=False)
            seen.append(contents_of(feeding.stream))
        assert digest(seen) == RECORDED[f"plain {name} {seed}"]


@pytest.mark.parametrize("name", CONFIGS)
def test_merging_gives_the_recorded_stream(name):
    for seed in range(5):
        assert digest(merged_contents(name, seed)) == RECORDED[f"merged {name} {seed}"]


def merged_contents(name, seed):
    rng, seen = np.random.default_rng((seed, len(name))), []
    parts = [Feeding(config_of(name), rng) for _ in range(rng.integers(1, 7))]
    start = parts[0].now
    for part in parts:
        part.now = start + int(rng.choice([0, 5000]))
        for _ in range(rng.integers(0, 8)):
            part.step()
    for _ in range(3):
        now = max(part.now for part in parts) + int(rng.integers(0, 100))
        chosen = [parts[i] for i in rng.permutation(len(parts))[: rng.integers(1, len(parts) + 1)]]
        how = "merge" if rng.random() < 0.7 else "concat"
        before = [contents_of(part.stream) for part in parts]
        merged = Feeding(parts[0].config, rng)
        merged.now = now
        merged.stream = getattr(SliceStream, how)([part.stream for part in chosen], now)
        seen.append(contents_of(merged.stream))
        for _ in range(4):
            merged.step()
            seen.append(contents_of(merged.stream))
        assert [contents_of(part.stream) for part in parts] == before, "merging has changed none"
        parts.append(merged)
    return seen


def test_a_large_batch_is_read_where_it_is():
    rng = np.random.default_rng(1)
    feeding, seen = Feeding(config_of("finer"), rng), []
    for count in (777, 299_223, 5, 500_000):
        feeding.add(count, heavy=False)
        seen.append(contents_of(feeding.stream))
    assert digest(seen) == RECORDED["large"]


def fed(config: SketchConfig, keys, ticks, weights, cuts) -> SliceStream:
    stream = SliceStream(config)
    for begin, end in zip([0, *cuts], [*cuts, len(keys)], strict=True):
        stream = stream.fork()
        stream.add(keys[begin:end], ticks[begin:end], None if weights is None else weights[begin:end])
    return stream


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weighted", [False, True])
def test_the_state_does_not_depend_on_how_batches_were_cut(seed, weighted):
    rng = np.random.default_rng(seed)
    config = config_of(str(rng.choice(list(CONFIGS))))
    count = int(rng.integers(1, 40_000))
    keys, ticks = rng.zipf(1.2, count).astype(np.uint64), np.sort(rng.integers(0, 60_000, count))
    weights = rng.integers(1, 50, count) if weighted else None
    whole = contents_of(fed(config, keys, ticks, weights, []))
    for pieces in (1, 5, 60):
        cuts = np.sort(rng.integers(0, count + 1, pieces)).tolist()
        assert contents_of(fed(config, keys, ticks, weights, cuts)) == whole


def check_sums(stream: SliceStream, keys, weights, ticks, limit) -> None:
    """Every arrival after the limit is in one place; nothing is there twice."""
    depth = stream.config.depth
    for slot, fact in enumerate(stream.facts()):
        assert stream.table(slot).sum() == depth * fact[2]
        assert (np.diff([fact[0], *fact[3:], fact[1]]) >= 0).all()
    events, _, event_weights = stream.events_columns()
    kept = int(event_weights.sum()) if event_weights is not None else len(events)
    assert kept + int(stream.facts()[:, 2].sum()) >= int(weights[ticks > limit].sum())
    assert kept + int(stream.facts()[:, 2].sum()) <= int(weights.sum())


@pytest.mark.parametrize("seed", range(8))
def test_forks_share_and_never_change(seed):
    rng = np.random.default_rng(seed)
    config = config_of(str(rng.choice(list(CONFIGS))))
    now, streams = 1000, [(SliceStream(config), 1000)]
    snapshots = [contents_of(streams[0][0])]
    for _ in range(30):
        stream, now = streams[rng.integers(0, len(streams))]
        fork = stream.fork()
        count = int(rng.integers(1, 3000))
        keys = rng.zipf(1.2, count).astype(np.uint64)
        ticks = now + np.sort(rng.integers(0, 500, count))
        weights = rng.integers(1, 9, count) if rng.random() < 0.3 else None
        if rng.random() < 0.3:
            fork.add_late(keys, np.maximum(ticks - 600, now - config.window + 1), weights, now)
        else:
            fork.add(keys, ticks, weights)
            now = int(ticks[-1])
        streams.append((fork, now))
        snapshots.append(contents_of(fork))
    for (stream, _), snapshot in zip(streams, snapshots, strict=True):
        assert contents_of(stream) == snapshot
    keys, ticks, weights = streams[-1][0].events_columns()
    again = SliceStream.restored(
        config, streams[-1][0].levels, streams[-1][0].fresh, (keys, ticks, weights), streams[-1][0].facts(),
        [streams[-1][0].table(slot) for slot in range(streams[-1][0].slice_count)],
    )  # fmt: skip
    assert contents_of(again) == snapshots[-1]


def test_every_arrival_is_counted_once():
    rng = np.random.default_rng(7)
    config = config_of("wide", window=10**6)
    count = 50_000
    keys, ticks = rng.zipf(1.2, count).astype(np.uint64), np.sort(rng.integers(0, 90_000, count))
    weights = rng.integers(1, 9, count)
    stream = SliceStream(config)
    for begin in range(0, count, 4000):
        some = slice(begin, begin + 4000)
        stream = stream.fork()
        if begin % 12_000 == 0:
            stream.add(keys[some], ticks[some], weights[some])
            now = int(ticks[some][-1])
        else:
            stream.add_late(keys[some], np.minimum(ticks[some], now), weights[some], now)
    check_sums(stream, keys, weights, ticks, -1)
    facts = stream.facts()
    _, _, event_weights = stream.events_columns()
    assert facts[:, 2].sum() + event_weights.sum() == weights.sum()


def changes_of(rng, config, stream, now):
    """Some ways to change a fork, each with enough to fail at."""
    count = config.recent + 3 * config.block
    keys = rng.zipf(1.2, count).astype(np.uint64)
    ticks = now + np.sort(rng.integers(0, 500, count))
    late = np.sort(now - rng.integers(0, config.window, count))
    weights = rng.integers(1, 9, count)
    other = SliceStream(config)
    other.add(keys, ticks - 200, None)
    return {
        "add": lambda fork: fork.add(keys, ticks, None),
        "add few": lambda fork: fork.add(keys[:10], ticks[:10], None),
        "add weights": lambda fork: fork.add(keys, ticks, weights),
        "add late": lambda fork: fork.add_late(keys, late, weights, now),
        "forget": lambda fork: fork.forget(now - 3000),
        "merge": lambda fork: SliceStream.merge([fork, other, stream], now + 500),
        "shift": lambda fork: fork.shifted(5),
        "restore": lambda fork: SliceStream.restored(
            config, 0, 0, fork.events_columns(), fork.facts(), [fork.table(i) for i in range(fork.slice_count)]
        ),
    }


@pytest.mark.parametrize("name", ["wide", "fine", "resolution"])
def test_without_memory_nothing_changes(name):
    rng = np.random.default_rng(3)
    config = config_of(name)
    stream, now = SliceStream(config), 0
    for _ in range(6):
        count = config.block * 2
        ticks = now + np.sort(rng.integers(0, 2000, count))
        stream.add(rng.zipf(1.2, count).astype(np.uint64), ticks, rng.integers(1, 4, count))
        now = int(ticks[-1])
    before, nbytes = contents_of(stream), stream.nbytes
    for what, change in changes_of(rng, config, stream, now).items():
        begin = allocations()
        change(stream.fork())
        asked = allocations() - begin
        for allowed in [*range(min(asked, 40)), *range(40, asked, 7), asked - 1]:
            fork = stream.fork()
            fail_after(allowed)
            try:
                with pytest.raises(MemoryError):
                    change(fork)
            finally:
                fail_after(-1)
            del fork
            assert (stream.facts().tolist(), stream.nbytes) == (before[2], nbytes), what
        assert contents_of(stream) == before, what


class _Heap(ctypes.Structure):
    _fields_ = [(f"word{place}", ctypes.c_size_t) for place in range(10)]


def held_bytes() -> int:
    """Memory that malloc has given out."""
    heap = ctypes.CDLL(None).mallinfo2
    heap.restype = _Heap
    gc.collect()
    found = heap()
    return found.word7 + found.word4  # uordblks: small pieces in use; hblkhd: large ones


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="needs glibc")
def test_what_fails_leaves_no_memory_behind():
    rng = np.random.default_rng(3)
    config = config_of("wide")
    stream = SliceStream(config)
    count = config.block * 5
    stream.add(rng.zipf(1.2, count).astype(np.uint64), np.sort(rng.integers(0, 9000, count)), rng.integers(1, 4, count))
    for what, change in changes_of(rng, config, stream, 9000).items():

        def try_all(change=change):
            for allowed in range(40):
                fork = stream.fork()
                fail_after(allowed)
                try:
                    change(fork)
                except MemoryError:
                    pass
                finally:
                    fail_after(-1)

        try_all()
        before = held_bytes()
        for _ in range(5):
            try_all()
        assert held_bytes() - before < 2000, what


class InterruptedFeedError(Exception):
    """What the signal handler raises."""


@pytest.mark.skipif(sys.platform == "win32", reason="needs timers")
def test_an_interrupt_changes_nothing():
    rng = np.random.default_rng(5)
    config = config_of("finer")
    count = 4_000_000
    keys, ticks = rng.zipf(1.2, count).astype(np.uint64), np.sort(rng.integers(0, 10**6, count))
    stream = SliceStream(config)
    stream.add(keys[:50_000], np.zeros(50_000, np.int64))
    before = contents_of(stream)

    def interrupt(*_):
        raise InterruptedFeedError

    stopped, old = 0, signal.signal(signal.SIGALRM, interrupt)
    try:
        for delay in (0.0005, 0.002, 0.004, 0.008, 0.012):
            fork = stream.fork()
            try:
                signal.setitimer(signal.ITIMER_REAL, delay)
                fork.add(keys, ticks)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except InterruptedFeedError:
                stopped += 1
            assert contents_of(stream) == before
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert stopped


def test_what_is_not_sorted_or_not_made_is_refused():
    config = config_of("wide")
    stream = SliceStream(config)
    keys = np.arange(3, dtype=np.uint64)
    with pytest.raises(ValueError, match="sorted"):
        stream.fork().add(keys, np.array([5, 4, 6]), np.array([1, 2, 3]))
    with pytest.raises(ValueError, match="sorted"):
        stream.fork().add_late(keys, np.array([5, 4, 6]), None, 6)
    with pytest.raises(ValueError, match="as many"):
        stream.fork().add(keys, np.array([5, 6]))
    with pytest.raises(TypeError):
        stream.fork().add(keys.astype(float), np.array([5, 6, 7]))
    with pytest.raises(RuntimeError):
        SliceStream.__new__(SliceStream).fork()
    with pytest.raises(RuntimeError):
        stream.__init__(config)
    with pytest.raises(TypeError):
        SliceStream.merge([stream, 3], 6)


def test_appending_copies_only_what_is_appended():
    config = config_of("finer")
    stream = SliceStream(config)
    stream.add(np.arange(1000, dtype=np.uint64), 2 * np.arange(1000))
    grown = stream.fork()
    grown.add(np.arange(50, dtype=np.uint64), 2000 + 2 * np.arange(50))  # takes a block with space behind it
    asked = allocations()
    one, other = grown.fork(), grown.fork()
    one.add(np.arange(20, dtype=np.uint64), np.arange(3000, 3020))
    assert allocations() == asked
    other.add(np.arange(20, 40, dtype=np.uint64), np.arange(4000, 4020))  # the space is taken
    assert allocations() == asked + 1
    assert one.events_columns()[1][-1] == 3019
    assert other.events_columns()[1][-20:].tolist() == list(range(4000, 4020))
    assert grown.event_count == 1050
    assert one.slices_id == grown.slices_id


def inside(ticks, weights, since, until, counted):
    """How much of each event lies in a range. If ticks number arrivals, a weight counts at as many ticks."""
    weights = np.ones(len(ticks), np.int64) if weights is None else weights
    if not counted:
        return np.where((ticks > since) & (ticks <= until), weights, 0)
    return np.maximum(np.minimum(ticks, until) - np.maximum(ticks - weights, since), 0)


@pytest.mark.parametrize("seed", range(40))
def test_events_are_counted_as_plainly(seed):
    rng = np.random.default_rng(seed)
    count, counted = int(rng.integers(1, 200)), bool(rng.integers(0, 2))
    keys = rng.integers(0, 4, count).astype(np.uint64)
    weights = rng.integers(1, 9, count) if rng.random() < 0.6 else None
    if counted:
        ticks = np.cumsum(np.ones(count, np.int64) if weights is None else weights)
    else:
        ticks = np.sort(rng.integers(0, 300, count)) + int(rng.choice([-(10**9), 0, 2**40]))
        ticks[-1] += int(rng.choice([0, 2**33]))
    for _ in range(20):
        since = int(ticks[0] + rng.integers(-20, 320))
        until, steps, key = since + int(rng.integers(1, 90)), int(rng.integers(1, 6)), int(rng.integers(0, 5))
        found, arrivals, (begin, end), among, some, total = read_events(
            keys, ticks, weights, key, since, until, steps, counted
        )
        mine, length = keys == key, until - since
        parts = [inside(ticks, weights, since + i * length, until + i * length, counted) for i in range(steps)]
        assert (found, arrivals) == (parts[0][mine].sum(), parts[0].sum())
        assert (ticks[:begin] <= since).all()
        assert (ticks[begin:end] > since).all()
        assert (ticks[begin:end] <= until).all()
        assert (ticks[end:] > until).all()
        assert among == ((mine if weights is None else mine * weights)[begin:end]).sum()
        assert some.tolist() == [part[mine].sum() for part in parts]
        assert total.tolist() == [part.sum() for part in parts]


@pytest.mark.parametrize("back", [0, 1, 2, 50])
def test_an_event_just_before_the_end_of_a_slice_is_counted_inside(back):
    """It may not begin a slice of its own: slices of one stream do not lie over each other."""
    config = config_of("fine")
    count = config.recent + config.block
    feeding = Feeding(config, np.random.default_rng(1))
    feeding.now = 3 * count
    keys = np.arange(count, dtype=np.uint64)
    feeding.feed(keys, 3 * np.arange(count), None)
    last = int(feeding.stream.facts()[-1, 1])
    feeding.stream = feeding.stream.fork()
    feeding.stream.add_late(keys[:1], np.array([last - back]), None, feeding.now)
    feeding.feed(keys, 3 * np.arange(count) + 3 * count, None)
    facts = feeding.stream.facts()
    assert (facts[1:, 0] >= facts[:-1, 1]).all()
    assert digest([contents_of(feeding.stream)]) == RECORDED[f"back {back}"]
