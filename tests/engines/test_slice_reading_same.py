"""Questions about slices are answered as before they were compiled ahead: every float is the same, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from ecmsketch.counters.arrivals import Batch
from ecmsketch.engines.slices.reading import SliceReading
from ecmsketch.engines.slices.stream import SliceStream
from ecmsketch.inputs.row_hashes import RowHashes
from ecmsketch.slices import SlicedStream
from ecmsketch.slices.prefix_reading import read_prefixes
from ecmsketch.slices.recent_events import RecentEvents
from ecmsketch.slices.table_planes import stored
from ecmsketch.slices.table_pool import BEGIN, END, SLICES, TABLE, new_pool, with_rows
from reading_cases import CONFIGS, Case, MadeUp, blocks_of_rows, items_of, made_up, ranges_of, sites_of

DELTAS = [None, 0.0, 0.01, 0.5]


def fed_pair(name, seed, sites, events=None) -> tuple[SlicedStream, Case]:
    config, batches, now = sites_of(name, seed, sites, events)
    olds, news = [], []
    for pieces in batches:
        olds.append(SlicedStream(config))
        news.append(SliceStream(config))
        for items, ticks, weights in pieces:
            olds[-1].add(Batch(items, ticks, weights))
            news[-1].add(items, ticks, weights)
    if sites == 1:
        return olds[0], Case(config, news[0], now)
    return SlicedStream.merge(olds, now), Case(config, SliceStream.merge(news, now), now)


def old_of(made: MadeUp) -> SlicedStream:
    items, ticks, weights = made.events
    old, cells = SlicedStream(made.config), made.config.cells
    pool = with_rows(new_pool(cells), len(made.facts), 0, 0, 0, 4)
    pool.used[SLICES] = len(made.facts)
    pool.facts[: len(made.facts), : made.facts.shape[1]] = made.facts
    pool.facts[:, [BEGIN, END]], pool.facts[:, TABLE] = 0, -1
    padded = np.zeros(-(-cells // 32) * 32, np.int64)
    for slot, table in enumerate(made.tables):
        padded[:cells] = table
        pool = stored(pool, slot, padded)
    old.levels, old.pool = made.levels, pool
    old.events = RecentEvents.of(items, ticks, np.empty(0, np.int64) if weights is None else weights)
    old._changed()
    return old


def rows_of(config, block):
    begin, end, _ = blocks_of_rows(config)[block]
    return RowHashes(*(column[begin:end] for column in config.row_hashes())), config.rows.some(begin, end)


def check_same(old, new, what):
    if hasattr(old, "confidence"):
        old, new = ((some.value, some.lower, some.upper, some.confidence) for some in (old, new))
    for one, other in zip(old, new, strict=True):
        np.testing.assert_array_equal(one, other, str(what))


def check_items(old, reading, case, between, rng):
    config, (since, until) = case.config, between
    levels = blocks_of_rows(config)
    for block, (_, _, drop) in enumerate(levels):
        old_rows, rows = rows_of(config, block)
        for count in (1, 3, 40, 3000) if block == 0 else (7, 600):
            keys, delta = items_of(config, count, rng) >> np.uint64(drop), DELTAS[int(rng.integers(4))]
            what = (between, block, count, delta)
            mine = old.point(keys, old_rows, block, since, until, delta)
            check_same(mine, reading.point(keys, rows, block, since, until, delta), what)
            for key in keys if len(levels) == 1 and count < 5 and delta is not None else []:
                asked = np.array([key]), old_rows, since, until, delta
                check_same(old.one_point(*asked), reading.one_point(int(key), since, until, delta), what)
            if len(levels) > 1:
                parts = read_prefixes(old, keys, old_rows, since, until)
                check_same(parts, reading.prefixes(block, keys, since, until), what)


def check_all(old, case, rng, ranges):
    config, reading = case.config, SliceReading(case.stream)
    for since, until in ranges_of(case, ranges, rng):
        what = (since, until)
        check_same(old.total(since, until), reading.total(since, until), what)
        check_items(old, reading, case, what, rng)
        for count in (1, 3, config.cells):
            numbers = rng.permutation(config.cells)[:count].astype(np.uint32)
            check_same(old.read(numbers, since, until), reading.cells(numbers, since, until), (what, count))
        mine, its = old.exact_counts(since, until), reading.exact_counts(since, until)
        assert (mine is None) == (its is None)
        if mine is not None:
            check_same(mine, its, what)
        assert reading.nbytes <= reading.limit
    for steps in (1, 7, 100, 1500) if len(blocks_of_rows(config)) == 1 else ():
        length = int(rng.choice([1, 3, max(config.window // steps, 1), max(2 * config.window // steps, 1)]))
        since, (rows, _) = case.now - steps * length, rows_of(config, 0)
        for delta in (0.0, 0.02, 0.3):
            for key in items_of(config, 2, rng).tolist():
                mine = old.step_points(key, rows, since, length, steps, delta)
                check_same(mine, reading.history(key, since, length, steps, delta), (steps, length, delta))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", CONFIGS)
def test_streams(name, seed):
    rng = np.random.default_rng(seed)
    sites = [1, 1, 1, 2, 9, 20, 1, 3][seed]
    old, case = fed_pair(name, 100 * seed + len(name), sites, {0: 60_000, 5: 4000}.get(seed))
    check_all(old, case, rng, 14)


@pytest.mark.parametrize("seed", range(9))
@pytest.mark.parametrize("name", CONFIGS)
def test_made_up_slices(name, seed):
    made = made_up(name, 1000 * seed + len(name))
    check_all(old_of(made), Case(made.config, made.stream(), made.now), np.random.default_rng(seed), 14)
