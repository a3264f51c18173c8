"""Candidates and names, compared with the numba code bit for bit. It goes when that goes; test_names.py stays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import ecmsketch as ecm
from ecmsketch.counters.arrivals import Batch
from ecmsketch.engines.names import names
from ecmsketch.engines.names.frequent import FrequentItems, combine, summary_params
from ecmsketch.errors import FormatError
from ecmsketch.heavy import candidates as old
from ecmsketch.heavy import names as old_names
from ecmsketch.inputs.items import hash_items
from ecmsketch.sketch.name_sources import Sources as OldSources


def random_config(rng):
    return ecm.SketchConfig(
        epsilon=float(rng.choice([0.5, 0.1, 0.02])), delta=0.1, window=int(rng.choice([50, 1000, 20_000, 10**7])),
        heavy_hitters=True, model=str(rng.choice(["time", "count"])), merge_depth=int(rng.integers(0, 3)),
    )  # fmt: skip


def random_batch(rng, config, now, most=8000):
    count = int(rng.choice([0, 1, 30, 500, most // 4, most]))
    keys = (rng.zipf(1.3, count) % int(rng.choice([10, 1000, 2**62]))).astype(np.uint64)
    weights = rng.choice([1, 1, 2, 300, 2**30], count).astype(np.int64) if rng.random() < 0.4 else None
    if config.model == "count":
        ticks = now + (np.arange(1, count + 1) if weights is None else np.cumsum(weights))
    else:
        ticks = now + np.sort(rng.integers(0, int(rng.choice([1, 50, 3000, 10**6, 2**34])), count))
    return keys, ticks.astype(np.int64), weights


def same(one, other, now):
    assert one.encode(now) == other.encode(now)
    assert one.rounds == other.rounds
    assert tuple(one.plan) == tuple(other.params)
    for mine, yours in zip(one.summaries, other.summaries.columns(), strict=True):
        assert np.array_equal(mine, yours)
    assert one.recent.base == other.recent.base
    assert one.recent.offsets.dtype == other.recent.offsets.dtype
    for mine, yours in zip(one.recent, other.recent, strict=True):
        assert np.array_equal(mine, yours)


def grown(rng, config):
    """A stream's candidates, old and new, and its clock; everything on the way is compared."""
    one, other, now = old.FrequentItems(config), FrequentItems.new(config), int(rng.integers(-100, 100))
    for _ in range(int(rng.integers(1, 7))):
        keys, ticks, weights = random_batch(rng, config, now)
        now = int(ticks[-1]) if len(ticks) else now
        one.add(Batch(keys, ticks, weights))
        other = other.added(keys, ticks, weights)
        same(one, other, now)
        if rng.random() < 0.2:
            by = int(rng.integers(0, 1000))
            one.shift(by)
            other, now = other.shifted(by), now + by
            same(one, other, now)
        for since, until in np.sort(rng.integers(now - config.window, now + 1, (3, 2))).tolist():
            for mine, yours in zip(one.candidates(since, until), other.candidates(since, until), strict=True):
                assert np.array_equal(mine, yours)
        assert np.array_equal(one.keys(now), other.keys(now))
        if rng.random() < 0.3:
            data = np.frombuffer(other.encode(now), np.uint8)
            one, other = old.FrequentItems.decode(data, config, now), FrequentItems.decode(data, config, now)
            same(one, other, now)
    return one, other, now


@pytest.mark.parametrize("seed", range(60))
def test_random_streams_and_merges(seed):
    rng = np.random.default_rng(seed)
    config = random_config(rng)
    parts = [grown(rng, config) for _ in range(int(rng.integers(1, 5)))]
    now = max(clock for _, _, clock in parts) + int(rng.integers(0, config.window))
    one = old.combine([part for part, _, _ in parts], config, now)
    other = combine([part for _, part, _ in parts], config, now)
    same(one, other, now)
    keys, ticks, weights = random_batch(rng, config, now - config.window // 2, 2000)
    fresh = old.FrequentItems(config)
    fresh.add(Batch(keys, ticks, weights))
    end = max(now, int(ticks.max(initial=now)))
    same(old.combine([one, fresh], config, end), other.with_late(keys, ticks, weights, config, end), end)
    keys, ticks, weights = random_batch(rng, config, end)
    one.add(Batch(keys, ticks, weights))
    same(one, other.added(keys, ticks, weights), int(ticks.max(initial=end)))


@pytest.mark.parametrize("seed", range(8))
def test_changed_bytes_are_taken_or_refused_alike(seed):
    rng = np.random.default_rng(seed)
    config = random_config(rng)
    _, other, now = grown(rng, config)
    data = np.frombuffer(other.encode(now), np.uint8)
    taken = 0
    for _ in range(150):
        changed = data.copy()
        place = int(rng.integers(0, len(data) if rng.random() < 0.3 else min(len(data), 60)))
        changed[place] = rng.choice([0, 1, 2, 127, 128, 255, int(rng.integers(0, 256))])
        changed = changed[: len(data) - int(rng.integers(0, 3)) * (rng.random() < 0.2)]
        found = []
        for decode in (old.FrequentItems.decode, FrequentItems.decode):
            try:
                found.append(decode(changed, config, now))
            except FormatError:
                found.append(None)
        assert (found[0] is None) == (found[1] is None)
        if found[0] is not None:
            taken += 1
            same(*found, now)
    assert taken < 150


def test_parameters():
    for epsilon in (0.5, 0.1, 0.013, 0.001):
        for depth in (0, 1, 2, 7):
            config = ecm.SketchConfig(epsilon=epsilon, delta=0.1, window=9, merge_depth=depth, model="count")
            assert tuple(summary_params(config)) == tuple(old.plan_of(config))


ITEMS = [
    ["a", "b", "a", "é日本語"], [b"x", b"", b"x"], [5, -1, 2**63, 2**64 - 1], [("a", 1), ("b", 2), (b"c", "d")],
    np.array([3, -4, 7]), np.array([3, 4]), np.array([3, 4], np.uint32), np.array(["q", "r", "q"]),
    pa.array(["a", "b"]), {"host": ["a", "b", "a"], "port": [1, 2, 1]}, pa.array([1, -2, 3]), [True, 2, "two"],
]  # fmt: skip


@pytest.mark.parametrize("items", ITEMS, ids=str)
def test_names_of_batches(items):
    hashed = hash_items(items)
    one, other, wanted = {}, {}, np.unique(hashed)[:2]
    assert names.need_no_names(items) == old_names.need_no_names(items)
    old_names.note_names(one, wanted, items, hashed)
    names.note_names(other, wanted, items, hashed)
    assert one == other
    old_names.note_rows(one, items, hashed, np.arange(len(hashed)))
    names.note_rows(other, items, hashed, np.arange(len(hashed)))
    assert one == other
    assert names.forget_names(other, wanted) == old_names.forget_names(one, wanted)
    ordered = [other[key] for key in sorted(other)]
    data = names.encode_names(ordered)
    assert data == old_names.encode_names(ordered)
    assert names.decode_names(data) == old_names.decode_names(data) == other


@pytest.mark.parametrize("items", ITEMS, ids=str)
def test_sources_of_names(items):
    hashed = hash_items(items)
    one, other = OldSources(), names.Sources()
    for start in (0, 100):
        assert one.keep(items, hashed, Batch(hashed, np.arange(len(hashed)), None), start) == other.keep(items, start)
    assert len(one) == len(other)
    if len(one):
        assert [one[place] for place in (0, 1, 100, 101, 150)] == [other[place] for place in (0, 1, 100, 101, 150)]


def test_changed_names_are_taken_or_refused_alike():
    rng = np.random.default_rng(0)
    some = ["a", "bc", b"x", -3, ("a", 5), ("b", b"c", -2), "é"]
    known = {}
    names.note_rows(known, some, hash_items(some), np.arange(len(some)))
    data = names.encode_names(known[key] for key in sorted(known))
    refused = 0
    for _ in range(2000):
        changed = bytearray(data)
        changed[rng.integers(0, len(data))] = rng.integers(0, 256) if rng.random() < 0.5 else rng.integers(0, 6)
        given = bytes(changed[: len(data) - int(rng.integers(0, 4)) * (rng.random() < 0.2)])
        found = []
        for decode in (old_names.decode_names, names.decode_names):
            try:
                found.append(decode(given))
            except FormatError:
                found.append("refused")
        assert found[0] == found[1]
        refused += found[0] == "refused"
    assert refused > 100


def test_a_hash_table_finds_the_last_places():
    rng = np.random.default_rng(0)
    for _ in range(50):
        wanted = np.unique(rng.integers(0, 300, int(rng.integers(1, 40))).astype(np.uint64))
        given = rng.integers(0, 300, int(rng.integers(0, 500))).astype(np.uint64)
        assert np.array_equal(names.find_last(wanted, given), old_names.find_last(wanted, given))
