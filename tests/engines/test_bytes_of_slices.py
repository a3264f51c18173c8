"""Bytes of slices: those of the format page, read back as they were; anything else is refused without harm."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecmsketch.config import SketchConfig
from ecmsketch.config.prefix_config import PrefixConfig
from ecmsketch.engines.slices.bytes import decode, encode
from ecmsketch.engines.slices.stream import SliceStream
from ecmsketch.errors import FormatError
from ecmsketch.kernels.memory import allocations, fail_after
from ecmsketch.sketch.codec import decode_sketch, kind_in

sys.path.insert(0, str(Path(__file__).parent))
from handmade_slices import coded, parameter_of, section, varint

GOLDEN = Path(__file__).parents[1] / "golden"
CONFIG = SketchConfig(epsilon=0.5, delta=0.3, window=900)
PREFIXES = PrefixConfig(epsilon=0.5, delta=0.3, window=900, bits=6, radix=4)
CONFIGS = [CONFIG, PREFIXES, CONFIG.replace(model="count"), SketchConfig(epsilon=0.3, delta=0.6, window=2**40)]
NO_EVENTS = (np.empty(0, np.uint64), np.empty(0, np.int64), None)


def rows_of(config):
    return [(int(first), int(width)) for width, first in config.rows.columns()[:, 4:6].tolist()]


def tables(config, arrivals, rng, spread=0.3):
    """Tables whose every row adds up; neighbours are alike, the more so the smaller the spread."""
    shares = [rng.random(width) ** 4 + 1e-9 for _, width in rows_of(config)]
    found = []
    for count in arrivals:
        table = np.zeros(config.cells, np.int64)
        for (first, width), share in zip(rows_of(config), shares, strict=True):
            now = share * (1 + spread * rng.random(width))
            some = (now / now.sum() * count).astype(np.int64)
            some[0] += count - some.sum()
            table[first : first + width] = some
        found.append(table)
    return found


def contents(config, rng, slices=6, events=40, weighted=False, large=False, now=10_000):
    """Facts and tables of slices, and events, all inside the window."""
    window = min(config.window, 2**40)
    facts = np.zeros((slices, 10), np.int64)
    facts[:, 1] = np.sort(now - rng.integers(0, window, slices))
    facts[:, 0] = facts[:, 1] - rng.integers(0, 50, slices)
    for slot in range(slices):
        facts[slot, 3:] = np.sort(rng.integers(facts[slot, 0], facts[slot, 1] + 1, 7))
    facts[:, 2] = rng.integers(1, 2**48 if large else 3000, slices)
    if large and slices:
        facts[0, 2] = 2**53
    ticks = np.sort(now - rng.integers(0, window, events)).astype(np.int64)
    keys = rng.integers(0, 2**63, events).astype(np.uint64) >> np.uint64(rng.integers(0, 60))
    weights = None
    if weighted and events:
        weights = rng.integers(1, 2**40 if large else 9, events)
        weights[0] = 2
    return facts, tables(config, facts[:, 2].tolist(), rng, float(rng.choice([0, 0.3, 5]))), (keys, ticks, weights)


def stream_of(config, facts, cells, events, fresh=5):
    return SliceStream.restored(config, 0, fresh, events, facts, cells)


def by_hand(now, facts, cells, events, fresh=5):
    keys, ticks, weights = events
    slices = [(f[0], f[1], f[2], f[3:], t.tolist()) for f, t in zip(facts.tolist(), cells, strict=True)]
    return section(now, keys, ticks.tolist(), None if weights is None else weights.tolist(), fresh, slices)


def assert_same(stream, facts, cells, events, fresh=5):
    assert stream.fresh == fresh
    np.testing.assert_array_equal(stream.facts(), facts)
    for slot, table in enumerate(cells):
        np.testing.assert_array_equal(stream.table(slot), table)
    for mine, theirs in zip(stream.events_columns(), events, strict=True):
        np.testing.assert_array_equal(mine, theirs)


cases = st.tuples(
    st.sampled_from(range(len(CONFIGS))), st.integers(0, 2**32), st.integers(0, 9), st.integers(0, 60),
    st.booleans(), st.booleans(), st.sampled_from([-(2**61) + 2**41, 0, 10_000, 2**62]),
)  # fmt: skip


@given(cases)
@settings(max_examples=150)
def test_bytes_are_those_of_the_format_page_and_are_read_back(case):
    which, seed, slices, events, weighted, large, now = case
    config = CONFIGS[which]
    parts = contents(config, np.random.default_rng(seed), slices, events, weighted, large, now)
    data = encode(stream_of(config, *parts), now)
    assert data == by_hand(now, *parts)
    assert_same(decode(data, config, now), *parts)
    assert encode(decode(data, config, now, 3), now) == data


@given(cases, st.integers(1, 900))
def test_what_has_left_the_window_is_not_written(case, later):
    which, seed, slices, events, weighted, large, now = case
    config = CONFIGS[which]
    now = min(now, 2**62 - 2000)
    facts, cells, (keys, ticks, weights) = parts = contents(
        config, np.random.default_rng(seed), slices, events, weighted, large, now
    )
    after = now + later
    left, kept = after - config.window, facts[:, 1] > after - config.window
    inside = ticks > left
    if weights is not None and (not inside.any() or (weights[inside] == 1).all()):
        weights = None
    expected = (
        facts[kept], [table for table, there in zip(cells, kept, strict=True) if there],
        (keys[inside], ticks[inside], None if weights is None else weights[inside]),
    )  # fmt: skip
    data = encode(stream_of(config, *parts), after)
    assert data == by_hand(after, *expected)
    assert_same(decode(data, config, after), *expected)


def test_nothing_is_four_bytes():
    data = encode(SliceStream(CONFIG), 7)
    assert data == bytes(4)
    assert decode(data, CONFIG, 7).bucket_count == 0


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("v1-slices*.ecms")), ids=lambda path: path.stem)
def test_golden_files_are_read_and_written_again(path):
    data = path.read_bytes()
    parts = decode_sketch(data, kind_in(data))
    stream = decode(parts.counters, parts.config, parts.now, parts.levels)
    assert stream.levels == parts.levels
    assert stream.bucket_count > 0
    assert encode(stream, parts.now) == parts.counters


def test_bytes_that_may_change_are_not_taken():
    for other in (bytearray(4), memoryview(bytes(4)), np.zeros(4, np.uint8), "text", None):
        with pytest.raises(TypeError):
            decode(other, CONFIG, 10_000)


def one_table(arrivals, cells, knots=(0,) * 7, first=0, last=0, now=0, code=None):
    numbers = list(cells)
    parameter = parameter_of(numbers)
    written = (2 * parameter, coded(numbers, parameter)) if code is None else code
    return section(now, slices=[(first, last, arrivals, knots, numbers)], codes=[written])


def full(arrivals):
    cells = np.zeros(CONFIG.cells, np.int64)
    for first, _ in rows_of(CONFIG):
        cells[first] = arrivals
    return cells


def test_the_table_by_hand_is_right():
    assert decode(one_table(6, full(6).tolist()), CONFIG, 0).facts()[0, 2] == 6


@pytest.mark.parametrize("row", range(CONFIG.depth))
@pytest.mark.parametrize("more", [-6, -1, 1, 2**40])
def test_every_row_has_counted_every_arrival_once(row, more):
    """A table with fewer counts than arrivals, or more, in one row or in all."""
    first, _ = rows_of(CONFIG)[row]
    for cells in (full(6), full(6 + more)):
        cells[first] = 6 + more
        with pytest.raises(FormatError, match="the table of slice 0 is malformed"):
            decode(one_table(6, cells.tolist()), CONFIG, 0)


def test_sums_of_cells_that_wrap_are_not_taken_for_arrivals():
    """2^11 cells of 2^53 add up to 2^64."""
    config = SketchConfig(epsilon=0.001, delta=0.5, window=100, resolution=0.5)
    assert config.width > 2**11
    cells = np.zeros(config.cells, np.int64)
    for first, _ in rows_of(config):
        cells[first : first + 2**11] = 2**53
        cells[first + 2**11] = 6
    numbers = cells.tolist()
    for parameter in range(5):  # those that fit the sum that wraps
        with pytest.raises(FormatError, match="the table of slice 0 is malformed"):
            decode(one_table(6, numbers, code=(2 * parameter, coded(numbers, parameter))), config, 0)


@pytest.mark.parametrize("other", [-1, 1, 5])
def test_only_the_best_parameter_is_read(other):
    cells = full(1000).tolist()
    parameter = parameter_of(cells)
    if parameter + other >= 0:
        with pytest.raises(FormatError, match="the table of slice 0 is malformed"):
            decode(one_table(1000, cells, code=(2 * (parameter + other), coded(cells, parameter + other))), CONFIG, 0)


def test_only_the_right_choice_between_cells_and_differences_is_read():
    rng = np.random.default_rng(4)
    cells = [table.tolist() for table in tables(CONFIG, [500, 500], rng, 0)]
    slices = [(0, 0, 500, (0,) * 7, table) for table in cells]
    good = section(0, slices=slices)
    assert decode(good, CONFIG, 0).used == 2
    direct = [(2 * parameter_of(table), coded(table, parameter_of(table))) for table in cells]
    with pytest.raises(FormatError, match="the table of slice 1 is malformed"):
        decode(section(0, slices=slices, codes=direct), CONFIG, 0)
    without = [0] * CONFIG.cells
    for codes, slot in (([(1, coded(without, 0))] * 2, 0), ([direct[0], (1, coded([1] * CONFIG.cells, 0))], 1)):
        with pytest.raises(FormatError, match=f"the table of slice {slot} is malformed"):
            decode(section(0, slices=slices, codes=codes), CONFIG, 0)


NUMBERS = [1, 0, 0, 0, 5]  # one event, five ticks ago
ITEM = b"\x01\x80"


def numbers(*some, data=b""):
    return b"".join(map(varint, some)) + data


BLOCK = CONFIG.block
REFUSED = [
    (b"", 0, "their header is missing"),
    (numbers(1, 0, 0), 0, "their header is missing"),
    (b"\x80\x00" + numbers(0, 0, 0), 0, "their header is missing"),
    (numbers(1, BLOCK, 0, 0, 5, data=ITEM), 9, "1 events and 0 slices do not fit into 8 bytes"),
    (numbers(1, 0, 2, 0, 5, 1, data=ITEM), 9, "do not fit"),
    (numbers(0, 0, 1, 0), 9, "do not fit"),
    (numbers(2**62, 0, 0, 0, 5, data=ITEM), 9, "do not fit"),
    (numbers(0, 0, 0, 2**62), 9, "do not fit"),
    (numbers(3, 0, 0, 0, 5, data=ITEM), 9, "truncated or malformed"),
    (numbers(*NUMBERS), 9, "truncated or malformed"),
    (numbers(*NUMBERS, data=b"\x02\x40"), 9, "truncated or malformed"),
    (numbers(*NUMBERS, data=ITEM + b"\0"), 9, "there are bytes after the last of them"),
    (numbers(1, 0, 0, 0, 900, data=ITEM), 9, "inside the window"),
    (numbers(1, 0, 0, 0, 2**61, data=ITEM), 9, "inside the window"),
    (numbers(1, 0, 0, 0, 2**61 + 10, data=ITEM), 9, "after the first tick that there is"),
    (numbers(2, 0, 0, 0, 2**62, 2**62, data=b"\x01\x40"), -1, "after the first tick that there is"),
    (numbers(4, 0, 0, 0, *[2**62] * 4, data=b"\x01\x40"), 2**62, "after the first tick that there is"),
    (numbers(2, 0, 0, 0, 2**63 - 1, 2, data=b"\x01\x40"), 0, "after the first tick that there is"),
    (numbers(1, 0, 1, 0, 5, 0, data=ITEM), 9, "positive weights"),
    (numbers(1, 0, 1, 0, 5, 1, data=ITEM), 9, "positive weights"),
    (numbers(1, 0, 1, 0, 5, 2**55 + 1, data=ITEM), 9, "positive weights"),
    (numbers(2, 0, 1, 0, 5, 0, 2**55, 1, data=b"\x01\x40"), 9, "positive weights"),
    (numbers(2, 0, 1, 0, 5, 0, 2**62, 2**62, data=b"\x01\x40"), 9, "positive weights"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "now", "says"), REFUSED)
def test_what_is_wrong_with_numbers_and_events(data, now, says):
    good = decode(numbers(*NUMBERS, data=ITEM), CONFIG, 9)
    assert [column.tolist() for column in good.events_columns()[:2]] == [[1], [4]]
    with pytest.raises(FormatError, match=says):
        decode(data, CONFIG, now)


FACTS = [0, *[0] * 8, 6, 0, 0]


@pytest.mark.parametrize(
    ("changes", "now", "says"),
    [
        ({0: 900}, 0, "inside the window"), ({1: 2**61 + 1}, 0, "expected ticks"),
        ({1: 2**62 + 1}, 2**62, "expected ticks"),
        ({5: 2**62, 6: 2**62, 7: 2**62}, 0, "expected ticks"), ({8: 2**61 + 1}, 0, "expected ticks"),
        ({1: 2**63 - 1, 2: 2**63 - 1, 3: 2}, 0, "expected ticks"), ({9: 2**55 + 1}, 0, "2\\*\\*55 arrivals"),
        ({9: 0}, 0, "arrivals in each"), ({10: 108}, 0, "arrivals in each"), ({10: 2**62}, 0, "arrivals in each"),
        ({11: 1}, 0, "fill the bytes"), ({11: 2**62}, 0, "fill the bytes"), ({}, 0, "table of slice 0"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_slices(changes, now, says):
    facts = [changes.get(place, number) for place, number in enumerate(FACTS)]
    padding = b"\0" * (CONFIG.cells // 8 + 1)
    if 11 not in changes:
        facts[11] = len(padding)
    with pytest.raises(FormatError, match=says):
        decode(numbers(0, 0, 0, 1, *facts, data=padding), CONFIG, now)


def test_slices_are_in_order_of_their_last_ticks():
    cells = full(6).tolist()
    slices = [(0, last, 6, (0,) * 7, cells) for last in (5, 4)]
    assert decode(section(9, slices=slices[::-1]), CONFIG, 9).used == 2
    with pytest.raises(FormatError, match="in order of their last ticks"):
        decode(section(9, slices=slices), CONFIG, 9)
    too_many = [(0, 5, 2**54 + 1, (0,) * 7, full(6).tolist())] * 2
    with pytest.raises(FormatError, match=r"2\*\*55 arrivals"):
        decode(section(9, slices=too_many), CONFIG, 9)


@pytest.mark.parametrize("now", [-(2**61) - 1, 2**62 + 1])
def test_a_clock_that_cannot_be_is_refused(now):
    with pytest.raises(FormatError, match="expected a clock"):
        decode(bytes(4), CONFIG, now)


def blobs():
    rng = np.random.default_rng(7)
    made = [(CONFIGS[i % 4], contents(CONFIGS[i % 4], rng, i % 5, 7 * i, i % 2 > 0, i % 3 == 0)) for i in range(12)]
    return [(config, encode(stream_of(config, *parts), 10_000)) for config, parts in made]


BLOBS = blobs()


def mutated(data: bytes, rng) -> bytes:
    body = bytearray(data)
    for _ in range(int(rng.choice([1, 1, 2, 5]))):
        at, what = int(rng.integers(0, max(len(body), 1))), int(rng.integers(0, 6))
        if what == 0 and body:
            body[at] ^= 1 << int(rng.integers(0, 8))
        elif what == 1 and body:
            body[at] = int(rng.choice([0, 1, 127, 128, 255, int(rng.integers(0, 256))]))
        elif what == 2:
            del body[at : at + int(rng.integers(1, 4))]
        elif what == 3:
            body[at:at] = rng.bytes(int(rng.integers(1, 4)))
        elif what == 4:
            other = int(rng.integers(0, max(len(body), 1)))
            body[at : at + 8] = body[other : other + 8]
        else:
            del body[at:]
    return bytes(body)


@pytest.mark.parametrize("seed", range(8))
def test_changed_bytes_are_refused_or_written_again(seed):
    rng, accepted = np.random.default_rng(seed), 0
    for i in range(2500):
        config, data = BLOBS[i % len(BLOBS)]
        changed = mutated(data, rng)
        try:
            stream = decode(changed, config, 10_000)
        except FormatError:
            continue
        accepted += 1
        assert encode(stream, 10_000) == changed
    assert accepted > 50


@pytest.mark.parametrize("place", range(len(BLOBS)))
def test_cut_bytes_are_refused(place):
    config, data = BLOBS[place]
    for length in range(len(data)):
        with pytest.raises(FormatError):
            decode(data[:length], config, 10_000)
    with pytest.raises(FormatError):
        decode(data + b"\0", config, 10_000)


def test_few_bytes_never_take_much_memory():
    """Bytes that promise much: the address space is bounded, so that a promise believed would fail."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    wide = SketchConfig(epsilon=2e-5, delta=0.5, window=900, resolution=0.9)
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**26, hard))
    try:
        for count in (1, 100, 2**20, 2**40, 2**62):
            for slices in (0, 1, 100, 2**20, 2**40, 2**62):
                for config in (CONFIG, wide):
                    with pytest.raises(FormatError):
                        decode(numbers(count, 0, 1, slices) + bytes(200), config, 0)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.parametrize("place", range(len(BLOBS)))
def test_without_memory_nothing_is_lost(place):
    config, data = BLOBS[place]
    stream = decode(data, config, 10_000)
    for work in (lambda: decode(data, config, 10_000), lambda: encode(stream, 10_000)):
        before = allocations()
        work()
        needed = allocations() - before
        for fewer in range(needed):
            fail_after(fewer)
            try:
                with pytest.raises(MemoryError):
                    work()
            finally:
                fail_after(-1)
        work()
    assert encode(stream, 10_000) == data


def test_refused_bytes_leave_no_memory_behind():
    rng = np.random.default_rng(5)
    facts, cells, events = contents(CONFIG, rng, 60, 500)
    data = encode(stream_of(CONFIG, facts, cells, events), 10_000)
    bad = data[:-2] + bytes([data[-2] ^ 64]) + data[-1:]

    def refuse(times):
        for i in range(times):
            fail_after(9 if i % 2 else -1)
            with pytest.raises((FormatError, MemoryError)):
                decode(bad, CONFIG, 10_000)
        fail_after(-1)

    refuse(300)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refuse(4000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8000
