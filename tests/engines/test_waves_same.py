"""Compiled waves against those of numba, bit for bit. Goes when the old ones go."""

from __future__ import annotations

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.counters.waves import deterministic_wave as old_dw
from ecmsketch.counters.waves import drawing as old_drawing
from ecmsketch.counters.waves import randomized_wave as old_rw
from ecmsketch.engines.cells import arrivals as coming
from ecmsketch.engines.cells.deterministic_wave import DeterministicWaves
from ecmsketch.engines.cells.randomized_wave import RandomizedWaves
from ecmsketch.kernels import memory
from streams import SHAPES, ticks_of

KINDS = {
    "dw": (old_dw.DeterministicWaves, DeterministicWaves),
    "rw": (old_rw.RandomizedWaves, RandomizedWaves),
}


def config_of(counter, rng, model):
    window = int(rng.choice([3, 60, 500, 2**31, 2**40]))
    more = {"max_arrivals": int(rng.choice([1, 1000, 10**6]))} if counter == "dw" and rng.random() < 0.5 else {}
    if counter == "rw":
        more = {"wave_constant": float(rng.choice([1.0, 4.0])), "wave_instances": int(rng.choice([1, 2, 3]))}
    return ecm.SketchConfig(
        epsilon=float(rng.choice([0.9, 0.4, 0.1])), delta=0.5, window=window, counter=counter, model=model,
        estimator=str(rng.choice(["interpolate", "half"])), **more,
    )  # fmt: skip


class Feed:
    """A stream for both: batches of cells in rows, ticks and weights, and the clock."""

    def __init__(self, config, rng, now=None):
        self.config, self.rng = config, rng
        self.now = now if now is not None else (0 if config.model == "count" else int(rng.integers(-1000, 1000)))
        self.origin = None

    def batch(self):
        rng, config = self.rng, self.config
        events = int(rng.choice([1, 2, 30, 700]))
        weights = None
        if rng.random() < 0.5:
            heavy = int(rng.choice([3, 70, 5000, 2**40 if config.model == "time" else 5000]))
            weights = np.where(rng.random(events) < 0.2, rng.integers(1, heavy, events), 1).astype(np.int64)
        if config.model == "count":
            oldest = self.now + 1
            ticks = self.now + np.cumsum(np.ones(events, np.int64) if weights is None else weights)
        else:
            ticks = ticks_of(str(rng.choice(SHAPES)), events, min(config.window, 500), rng)
            pause = rng.choice([0, 1, 100, config.window, 2**33], p=[0.4, 0.3, 0.2, 0.05, 0.05])
            ticks += self.now - int(ticks[0]) + int(pause)
            oldest = int(ticks[0])
        depth, width = config.depth, config.width
        some = int(rng.choice([1, 3, width]))
        cells = rng.integers(0, min(some, width), (depth, events)) + np.arange(depth)[:, None] * width
        self.now = int(ticks[-1])
        self.origin = oldest if self.origin is None else self.origin
        return np.ascontiguousarray(cells, np.uint32), np.ascontiguousarray(ticks, np.int64), weights, oldest, self.now


def check_readings(old, new, feed, now):
    cells = np.arange(feed.config.cells, dtype=np.uint32)
    window = feed.config.window
    starts = [now, now - window, *(now - feed.rng.integers(0, min(window, 2000) + 1, 6)).tolist()]
    for since in starts:
        one, other = old.read(cells, since, now, feed.origin), new.read(cells, since, now, feed.origin)
        for part in range(3):
            np.testing.assert_array_equal(one[part], other[part])


def check_same(old, new, feed, now):
    assert new.encode(now) == old.encode(now)
    assert new.base == old.base
    if feed.config.counter == "dw":
        assert new.arrivals.tolist() == old.arrivals.tolist()
        for one, other in zip(new.live_history(), old.live_history(), strict=True):
            assert one.tolist() == other.tolist()
        assert (new.top, new.ring, new.nbytes) == (old.rings.top, old.rings.ring, old.nbytes)
    else:
        offset, ticks = new.lists()
        keep = feed.config.samples
        state = old.state
        kept = np.minimum(state.filled, keep)
        assert np.diff(offset).tolist() == kept.tolist()
        lists = zip(state.offset[:-1], state.filled, kept, strict=True)
        found = [state.ticks[first + filled - k : first + filled] for first, filled, k in lists if k]
        found = np.concatenate(found).astype(np.int64) if found else np.empty(0, np.int64)
        assert (ticks - new.base).tolist() == found.tolist()
        assert (new.key, new.arrived) == (old.key, old.arrived)
    assert new.bucket_count == old.bucket_count


@pytest.mark.parametrize("counter", KINDS)
@pytest.mark.parametrize("model", ["time", "count"])
@pytest.mark.parametrize("seed", range(12))
def test_feeding_reading_and_bytes(counter, model, seed):
    rng = np.random.default_rng([seed, len(model), len(counter)])
    config = config_of(counter, rng, model)
    old_class, new_class = KINDS[counter]
    old, new, feed = old_class.new(config, 7), new_class.new(config, 7), Feed(config, rng)
    for step in range(25):
        batch = feed.batch()
        old.add(*batch)
        new.add(*batch)
        check_same(old, new, feed, feed.now)
        if step % 5 == 0:
            check_readings(old, new, feed, feed.now)
        if step % 9 == 8:
            data = np.frombuffer(old.encode(feed.now), np.uint8)
            old = old_class.decode(data, config, feed.now, 2**40)
            new = new_class.decode(data, config, feed.now, 2**40)
            check_same(old, new, feed, feed.now)
        if step % 11 == 10:
            old, new = old.copy(), new.copy()
            if model == "time":
                old.shift(13)
                new.shift(13)
                feed.now += 13
                check_same(old, new, feed, feed.now)
    assert new.version > 0


@pytest.mark.parametrize("counter", KINDS)
@pytest.mark.parametrize("seed", range(12))
def test_merging_and_concatenating(counter, seed):
    rng = np.random.default_rng([seed, 5, len(counter)])
    config = config_of(counter, rng, "time")
    old_class, new_class = KINDS[counter]
    sites = []
    start = int(rng.integers(-100, 100))
    for site in range(4):
        old, new, feed = old_class.new(config, site), new_class.new(config, site), Feed(config, rng, start)
        for _ in range(int(rng.integers(0, 5))):
            batch = feed.batch()
            old.add(*batch)
            new.add(*batch)
        feed.origin = start if feed.origin is None else feed.origin
        sites.append((old, new, feed))
    now = max(feed.now for *_, feed in sites)
    origins = [feed.origin for *_, feed in sites]
    feed = sites[0][2]
    feed.origin, feed.now = min(origins), now
    merged = [kind.merge([site[i] for site in sites], origins, now) for i, kind in enumerate((old_class, new_class))]
    check_same(*merged, feed, now)
    check_readings(*merged, feed, now)
    for _ in range(3):
        batch = feed.batch()
        for one in merged:
            one.add(*batch)
        check_same(*merged, feed, feed.now)

    segments, feed = [], Feed(config, rng)
    for segment in range(5):
        pair = (old_class.new(config, segment + 100), new_class.new(config, segment + 100))
        for _ in range(int(rng.integers(0, 4))):
            batch = feed.batch()
            for one in pair:
                one.add(*batch)
        segments.append(pair)
    if counter == "rw" and feed.origin is None:
        return
    feed.origin = feed.now if feed.origin is None else feed.origin
    joined = [kind.concat([pair[i] for pair in segments], feed.now) for i, kind in enumerate((old_class, new_class))]
    check_same(*joined, feed, feed.now)
    check_readings(*joined, feed, feed.now)
    kinds = zip((old_class, new_class), joined, strict=True)
    again = [kind.merge([one], [feed.origin], feed.now) for kind, one in kinds]
    check_same(*again, feed, feed.now)
    batch = feed.batch()
    for one in joined:
        one.add(*batch)
    check_same(*joined, feed, feed.now)
    check_readings(*joined, feed, feed.now)


@pytest.mark.parametrize("counter", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("block", [1, 7, 1000])
def test_hashed_items_in_blocks(counter, weighted, block):
    rng = np.random.default_rng(block)
    config = ecm.SketchConfig(epsilon=0.3, delta=0.3, window=300, counter=counter)
    old, new = KINDS[counter][0].new(config, 3), KINDS[counter][1].new(config, 3)
    rows, now = config.rows, 0
    feed = Feed(config, rng)
    for _ in range(5):
        items = rng.integers(0, 50, 900).astype(np.uint64)
        ticks = now + np.cumsum(rng.integers(0, 2, 900))
        now = int(ticks[-1])
        weights = rng.choice([1, 3, 100, 10**6], 900).astype(np.int64) if weighted else None
        arrivals = coming.hashed(items, rows, ticks, weights, block)
        new.reserve(arrivals, int(ticks[0]), now).commit()
        from ecmsketch.kernels.hashing import cells_of

        old.add(cells_of(items, rows), ticks, weights, int(ticks[0]), now)
        check_same(old, new, feed, now)


@pytest.mark.parametrize("counter", KINDS)
def test_without_memory_nothing_changes(counter):
    """Every allocation of a change fails once; then the change is made."""
    rng = np.random.default_rng(3)
    failures = 0
    for model in ("time", "count"):
        config = ecm.SketchConfig(epsilon=0.3, delta=0.5, window=400, counter=counter, model=model)
        old, new, feed = KINDS[counter][0].new(config, 7), KINDS[counter][1].new(config, 7), Feed(config, rng)
        for _ in range(12):
            batch = feed.batch()
            before = (new.encode(feed.now), new.nbytes, new.base, new.version)
            allocations = 0
            while True:
                memory.fail_after(allocations)
                try:
                    change = new.reserve(coming.placed(*batch[:3]), *batch[3:])
                except MemoryError:
                    assert (new.encode(feed.now), new.nbytes, new.base, new.version) == before
                    failures, allocations = failures + 1, allocations + 1
                    continue
                finally:
                    memory.fail_after(-1)
                break
            memory.fail_after(0)  # committing allocates nothing
            change.commit()
            memory.fail_after(-1)
            old.add(*batch)
            check_same(old, new, feed, feed.now)
    assert failures > 20


def test_broken_bytes_are_refused_alike():
    rng = np.random.default_rng(8)
    for counter, (old_class, new_class) in KINDS.items():
        config = ecm.SketchConfig(epsilon=0.5, delta=0.5, window=400, counter=counter, wave_constant=1.0)
        old, feed = old_class.new(config, 7), Feed(config, rng)
        for _ in range(6):
            old.add(*feed.batch())
        good = bytearray(old.encode(feed.now))
        refused = 0
        for _ in range(1500):
            data = bytearray(good)
            for _ in range(int(rng.integers(1, 4))):
                data[int(rng.integers(0, len(data)))] = int(rng.choice([0, 1, 127, 128, 255, rng.integers(0, 256)]))
            if rng.random() < 0.3:
                del data[int(rng.integers(0, len(data))) :]
            said = []
            for kind in (old_class, new_class):
                try:
                    decoded = kind.decode(np.frombuffer(bytes(data), np.uint8), config, feed.now, 2**24)
                    said.append(decoded.encode(feed.now))
                except ecm.errors.FormatError as error:
                    said.append(str(error))
            assert said[0] == said[1]
            refused += isinstance(said[0], str)
        assert refused > 500


def test_draws_are_those_of_before():
    """Over the whole range of numbers, a weighted event drawn at number n."""
    rng = np.random.default_rng(4)
    config = ecm.SketchConfig(epsilon=0.9, delta=0.5, window=10, counter="rw", wave_constant=1.0, wave_instances=3)
    for _ in range(60):
        arrived = int(rng.integers(0, 2**59 - 2**54))
        weights = np.array([int(rng.choice([1, 64, 65, 4096, 4097, 10**9, 2**50])), 3], np.int64)
        head = np.zeros(16 + config.cells * 3, np.uint8)
        head[:8] = np.array([rng.integers(0, 2**63)], np.int64).view(np.uint8)
        head[8:16] = np.array([arrived], np.int64).view(np.uint8)
        pair = [kind.decode(head, config, 0, 2**40) for kind in KINDS["rw"]]
        cells = np.zeros((config.depth, 2)) + np.arange(config.depth)[:, None] * config.width
        for one in pair:
            one.add(np.ascontiguousarray(cells, np.uint32), np.array([5, 6]), weights, 5, 6)
        assert pair[0].encode(6) == pair[1].encode(6)
    assert old_drawing.half_of(np.uint64(3), 5, 0) == 0
