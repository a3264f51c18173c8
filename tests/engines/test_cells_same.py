"""The engine of cells compiled ahead answers as the old code does, bit for bit. Thrown away with the old code."""

from __future__ import annotations

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.counters.exponential_histogram import ExponentialHistograms as OldHistograms
from ecmsketch.engines.cells.engine import CellsEngine
from ecmsketch.engines.cells.exponential_histogram import ExponentialHistograms
from ecmsketch.inputs.batches import Batch
from ecmsketch.inputs.items import hash_items
from ecmsketch.sketch import late as old_late

WIDE = 2**31 + 1


def same_counters(old, new, now, origin, rng):
    """Compare everything that two arrays of counters say."""
    config = new.config
    assert old.encode(now) == new.encode(now)
    assert (old.nbytes, old.bucket_count, old.base) == (new.nbytes, new.bucket_count, new.base)
    cells = np.arange(config.cells, dtype=np.uint32)
    for since in rng.integers(now - config.window, now + 1, 4).tolist():
        for ours, theirs in zip(old.read(cells, since, now, origin), new.read(cells, since, now, origin), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(old.buckets(now, origin), new.buckets(now, origin), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def random_arrivals(rng, config, now, scale, used):
    size, depth = int(rng.choice([1, 2, 7, 60, 3000])), int(rng.integers(1, min(4, config.cells)))
    cells = rng.integers(0, max(min(used, config.cells // 4), 1), (depth, size)) * 4 + np.arange(depth)[:, None]
    weights = None if rng.random() < 0.5 else rng.choice([1, 1, 2, 50, 10**6, 2**40], size)
    if config.model == "count":
        ticks = now + np.cumsum(np.ones(size, np.int64) if weights is None else weights)
        return cells.astype(np.uint32), ticks, weights, now + 1
    ticks = now + np.cumsum((rng.random(size) * scale).astype(np.int64))
    return cells.astype(np.uint32), ticks, weights, int(ticks[0])


@pytest.mark.parametrize("seed", range(25))
def test_histograms_are_those_of_the_old_code(seed):
    rng = np.random.default_rng(seed)
    window = int(rng.choice([50, 1000, 2**31, WIDE, 2**40]))
    config = ecm.SketchConfig(
        epsilon=float(rng.choice([0.5, 0.3, 0.1, 0.03, 0.01])), delta=0.5, window=window, counter="eh",
        model=str(rng.choice(["time", "count"])), split=str(rng.choice(["sharp", "paper"])),
        estimator=str(rng.choice(["interpolate", "half"])),
    )  # fmt: skip
    parts, used = [], int(rng.choice([1, 5, 1000]))
    for _ in range(int(rng.integers(1, 4))):
        old, new, origin = OldHistograms(config), ExponentialHistograms(config), None
        now = int(rng.integers(-(2**40), 2**40)) if config.model == "time" else 0
        scale = float(rng.choice([0.1, 2, window / 20, window * 0.7, 2**33]))
        for _ in range(int(rng.integers(1, 12))):
            cells, ticks, weights, oldest = random_arrivals(rng, config, now, scale, used)
            now, origin = int(ticks[-1]), oldest if origin is None else origin
            for counters in (old, new):
                counters.add(cells, ticks, weights, oldest, now)
            same_counters(old, new, now, origin, rng)
            if rng.random() < 0.2:
                data = np.frombuffer(old.encode(now), np.uint8)
                old, new = (type(counters).decode(data, config, now, 2**40) for counters in (old, new))
            if rng.random() < 0.2:
                old, new = old.copy(), new.copy()
            if rng.random() < 0.2 and config.model == "time":
                now += int(rng.random() * scale * 3)
            same_counters(old, new, now, origin, rng)
        parts.append((old, new, now, origin))
    if config.model == "time":
        same_merged(parts, rng)
    same_joined(parts, rng)


def same_merged(parts, rng):
    olds, news, clocks, origins = (list(column) for column in zip(*parts, strict=True))
    now = max(clocks)
    merged = OldHistograms.merge(olds, origins, now), ExponentialHistograms.merge(news, origins, now)
    same_counters(*merged, now, min(origins), rng)


def same_joined(parts, rng):
    """Concatenate one after the other, feed on, write, read, and concatenate with what was concatenated."""
    at, segments, config = 0, [], parts[0][1].config
    for old, new, now, origin in sorted(parts, key=lambda part: part[2]):
        by = at - origin + int(rng.integers(0, 5))
        old.shift(by)
        new.shift(by)
        at = now + by
        segments.append((old, new))
    for _ in range(2):
        olds, news = (list(column) for column in zip(*segments, strict=True))
        old, new = OldHistograms.concat(olds, at), ExponentialHistograms.concat(news, at)
        same_counters(old, new, at, 0, rng)
        ticks = at + np.arange(1, 51)
        at = int(ticks[-1])
        for counters in (old, new):
            counters.add(np.zeros((1, 50), np.uint32), ticks, None, int(ticks[0]), at)
        same_counters(old, new, at, 0, rng)
        data = np.frombuffer(old.encode(at), np.uint8)
        restored = OldHistograms.decode(data, config, at, 2**40), ExponentialHistograms.decode(data, config, at, 2**40)
        same_counters(*restored, at, 0, rng)
        segments = [(old, new), (OldHistograms(config), ExponentialHistograms(config))]
        if rng.random() < 0.5:
            segments[1] = old.copy(), new.copy()
            for counters in segments[1]:
                counters.shift(at + 5)
            at += at + 5
    if config.model == "time":
        same_counters(OldHistograms.merge([old], [0], at), ExponentialHistograms.merge([new], [0], at), at, 0, rng)


def feed(old, engine, items, ticks, weights):
    """Count the same in an old sketch and in an engine; returns the engine."""
    if old.config.model == "count":
        numbers = np.cumsum(np.ones(len(items), np.int64) if weights is None else weights)
        batch = Batch(hash_items(items), numbers + engine.now, weights)
        old.update_many(items, None, weights)
    else:
        batch = Batch(hash_items(items), ticks, weights).sort()
        old.update_many(items, ticks, weights)
    return engine.prepare(batch).commit()


def same_engine(old, engine, rng):
    """Compare the state and the answers of an old sketch and an engine."""
    state, config = old._flushed(), engine.config
    late = state.late
    now = state.now or 0
    assert (state.now, state.origin, state.levels) == (engine.now, engine.origin, engine.levels)
    assert (late.counted, late.dropped, late.frontier) == (engine.late_counted, engine.late_dropped, engine.frontier)
    for ours, theirs in zip(late.held, engine.held, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    sections = tuple(None if part is None else part.encode(now) for part in (state.counters, late.settled))
    assert sections == engine.sections()
    assert engine.bucket_count == old.bucket_count
    assert state.counted_since(now - config.window) == engine.most_since(now - config.window)
    if state.now is None:
        return
    keys, delta = np.arange(6, dtype=np.uint64), config.delta
    numbers = rng.integers(0, config.cells, 5).astype(np.uint32)
    for since, until in ranges(rng, now, config.window):
        assert old._everything(since, until) == engine.total(since, until)
        same_parts(old._read(numbers, since, until), engine.cells(numbers, since, until))
        for chosen in (delta, 0.0, 0.2):
            same_estimates(old._point(keys, since, until, chosen), engine.point(keys, 0, since, until, chosen))
            assert old._point(keys[2:3], since, until, chosen)[0] == engine.one_point(2, since, until, chosen)
        if config.counter != "rw":
            same_estimates(old._least_reading(keys, since, until), engine.compared(keys, since, until, delta))
        step = max((until - since) // 4, 1)
        for i, entry in enumerate(engine.history(1, since, step, 3, delta)):
            start = since + i * step
            assert entry[:3] == old._point(keys[1:2], start, start + step, delta)[0][:3]
    assert engine.nbytes <= engine.state_nbytes + max(engine.state_nbytes, 16_384)


def ranges(rng, now, window):
    for _ in range(3):
        since = int(rng.integers(now - window, now))
        yield since, (now if rng.random() < 0.5 else int(rng.integers(since + 1, now + 1)))


def same_parts(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def same_estimates(ours, theirs):
    assert ours.confidence == theirs.confidence
    same_parts((ours.value, ours.lower, ours.upper), (theirs.value, theirs.lower, theirs.upper))


def restored(engine):
    """The engine that the sections of an engine stand for."""
    counters, settled = engine.sections()
    return CellsEngine.restored(
        engine.config, engine.key, engine.now, engine.origin, engine.levels, engine.frontier, engine.late_counted,
        engine.late_dropped, engine.held, counters, settled, 2**40,
    )  # fmt: skip


def random_config(rng, counter):
    return ecm.SketchConfig(
        epsilon=float(rng.choice([0.5, 0.2, 0.05])), delta=float(rng.choice([0.3, 0.05])), counter=counter,
        window=int(rng.choice([30, 1000, WIDE])), model=str(rng.choice(["time", "time", "count"])),
        late=str(rng.choice(["raise", "side", "side", "drop"])), split=str(rng.choice(["sharp", "paper"])),
        estimator=str(rng.choice(["interpolate", "half"])), wave_constant=2.0, merge_depth=int(rng.choice([0, 2])),
    )  # fmt: skip


def random_batch(rng, config, now, start=0):
    size = int(rng.choice([1, 3, 40, 400]))
    first = start if now is None else now
    spread = int(rng.choice([1, config.window // 10 + 1, min(config.window * 2, 2**33)]))
    ticks = first + np.sort(rng.integers(0, spread, size))
    if config.late != "raise" and now is not None and rng.random() < 0.6:
        ticks = ticks - rng.integers(0, min(2 * config.window, 5000), size)
    weights = rng.choice([1, 1, 3, 1000, 2**33], size) if rng.random() < 0.4 else None
    return rng.integers(0, 8, size), ticks, weights


def grown(rng, config, site, start, rounds=8):
    """An old sketch and an engine that have counted the same."""
    old = ecm.EcmSketch(config, site=site)
    engine = CellsEngine(config, old._state.key)
    for _ in range(int(rng.integers(1, rounds))):
        engine = feed(old, engine, *random_batch(rng, config, engine.now, start))
        if rng.random() < 0.2 and config.model == "time":
            tick = engine.now + int(rng.integers(0, config.window))
            old.advance(tick)
            engine = engine.prepare_advance(tick).commit()
        if rng.random() < 0.1:
            old, engine = ecm.EcmSketch.deserialize(old.serialize()), restored(engine)
        if rng.random() < 0.1:
            changed = config.replace(lateness=int(rng.integers(0, config.window)))
            old, engine = old.copy(lateness=changed.lateness), engine.copy(changed)
        same_engine(old, engine, rng)
    return old, engine


@pytest.mark.parametrize("counter", ["eh", "dw", "rw"])
@pytest.mark.parametrize("seed", range(12))
def test_engines_are_sketches_of_the_old_code(seed, counter, monkeypatch):
    from ecmsketch.engines.cells import late as new_late

    rng = np.random.default_rng(seed)
    limit = int(rng.choice([50, 65_536]))
    monkeypatch.setattr(old_late, "HELD_LIMIT", limit)
    monkeypatch.setattr(new_late, "HELD_LIMIT", limit)
    config = random_config(rng, counter)
    pairs, start = [], 0
    for i in range(int(rng.integers(1, 4))):
        pairs.append(grown(rng, config, f"site {i}", start))
        start = pairs[-1][1].now + 5000 if rng.random() < 0.7 else 0  # late arrivals lie up to 5,000 ticks back
    olds, engines = (list(column) for column in zip(*pairs, strict=True))
    now = max(engine.now for engine in engines)
    if config.model == "time":
        merged = ecm.merge(olds), CellsEngine.merge(engines, now)
        same_engine(*merged, rng)
        engine = feed(*merged, *random_batch(rng, config, now))
        same_engine(merged[0], engine, rng)
    at, segments = -(2**60) if config.model == "time" else 0, []
    for old, engine in pairs:
        if config.model == "time":
            if engine.origin is not None and engine.origin < at:
                continue
            segments.append((old, engine))
        else:
            segments.append((old, engine.shifted(at) if segments else engine))
            at += engine.now
            continue
        at = engine.now
    olds, engines = (list(column) for column in zip(*segments, strict=True))
    joined = ecm.concat(olds), CellsEngine.concat(engines, engines[-1].now)
    same_engine(*joined, rng)
    engine = feed(*joined, *random_batch(rng, config, joined[1].now))
    same_engine(joined[0], engine, rng)
    same_engine(ecm.EcmSketch.deserialize(joined[0].serialize()), restored(engine), rng)


@pytest.mark.parametrize("counter", ["eh", "dw", "rw"])
@pytest.mark.parametrize("model", ["time", "count"])
def test_prefixes_are_those_of_the_old_code(counter, model):
    rng = np.random.default_rng(5)
    plain = ecm.SketchConfig(epsilon=0.2, delta=0.2, window=500, counter=counter, model=model, wave_constant=2.0)
    old = ecm.PrefixSketch(plain, bits=12, site="here")
    config = old.config
    engine = CellsEngine(config, old._state.key)
    for _ in range(4):
        ticks = np.sort(rng.integers(0, 100, 300)) + (engine.now or 0)
        engine = feed(old, engine, (rng.integers(0, 4096, 300) >> rng.integers(0, 12, 300)), ticks, None)
        now = old.now
        for since, until in ranges(rng, now, 500):
            assert old._total(since, until) == engine.total(since, until)
            for block, level in enumerate(config.levels):
                prefixes = np.arange(min(20, 1 << level.bits), dtype=np.uint64)
                nodes = old._nodes(level, prefixes, since, until)
                same_estimates(nodes, engine.point(prefixes, block, since, until, None))
                (found,) = old._certain([(level, prefixes)], since, until)
                same_parts(found[:3], engine.prefixes(block, prefixes, since, until)[:3])
        assert old._flushed().counters.encode(now) == engine.sections()[0]
