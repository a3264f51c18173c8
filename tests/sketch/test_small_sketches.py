"""Many small sketches as bytes: the very bytes that update_many, advance and serialize give, and nothing is taken that
`load` would refuse.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.engines.slices.bytes import encode
from ecmsketch.engines.slices.stream import SliceStream
from ecmsketch.errors import FormatError
from ecmsketch.inputs.kinds import INTEGERS, NOTHING, Hashed, encode_kinds
from ecmsketch.kernels.memory import allocations, fail_after
from ecmsketch.sketch.codec import Parts, decode_sketch, encode_sketch
from ecmsketch.sketch.small_sketches import (
    EventSketchWriter,
    SketchColumn,
    append_events,
    can_append,
    consists_of_events,
)
from hand_written import sealed

CONFIG = ecm.SketchConfig(epsilon=0.2, delta=0.2, window=1000, unit="s", late="side", lateness=50)
NO_CLOCK = -(2**62)


def append(config, sketches, events, clocks=None, kind="i"):
    """`events` is (items, ticks) for each sketch."""
    items = np.concatenate([np.array(some[0], np.int64) for some in events]).view(np.uint64)
    ticks = np.concatenate([np.array(some[1], np.int64) for some in events])
    ends = np.cumsum([len(some[1]) for some in events])
    moments = np.array([NO_CLOCK] * len(sketches) if clocks is None else clocks, np.int64)
    return append_events(config, encode_kinds(frozenset({kind})), sketches, items, ticks, ends, moments)


def slowly(config, data, items, ticks, clock=None, kind="i"):
    sketch = ecm.load(data)
    if len(ticks):
        sketch.update_many(Hashed(np.array(items, np.int64), kind), np.array(ticks, np.int64))
    if clock is not None and (sketch.now is None or clock > sketch.now):
        sketch.advance(clock)
    return sketch


def made(items, ticks, clock=None, kind="i", config=CONFIG):
    sketch = ecm.EcmSketch(config)
    if len(ticks):
        sketch.update_many(Hashed(np.array(items, np.int64), kind), np.array(ticks, np.int64))
    if clock is not None:
        sketch.advance(clock)
    return sketch


def refused(blob):
    try:
        ecm.load(blob)
    except FormatError:
        return True
    return False


class TestAppending:
    steps = st.lists(
        st.tuples(
            st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 400)), max_size=12),
            st.none() | st.integers(0, 3000),
        ),
        min_size=1,
        max_size=6,
    )

    @given(
        st.lists(steps, min_size=1, max_size=4),
        st.integers(-(2**61) + 100, 2**62 - 50_000),
        st.sampled_from(["i", "t", "ti"]),
    )
    def test_bytes_are_those_of_one_sketch_after_the_other(self, sites, start, kind):
        """Gaps below zero make events late: those are left to update_many."""
        empty = ecm.EcmSketch(CONFIG).serialize()
        for site in sites:
            data, tick = empty, start
            for events, later in site:
                ticks = sorted(tick + gap for _, gap in events)
                items = [item for item, _ in events]
                clock = None if later is None else tick + later
                if not ticks and clock is None:
                    continue
                found = append(CONFIG, [data], [(items, ticks)], [NO_CLOCK if clock is None else clock], kind)
                expected = slowly(CONFIG, data, items, ticks, clock, kind)
                on_time = not ticks or data == empty or ticks[0] >= ecm.load(data).now
                if on_time and (ticks or data != empty):
                    assert found.sketches[0] is not None or expected._flushed().counters.slice_count
                data = expected.serialize()
                assert found.sketches[0] in (None, data)
                if found.sketches[0] is not None:
                    assert found.late_counted == [expected.late_counted]
                    assert found.late_dropped == [expected.late_dropped]
                tick = max(ticks, default=tick)

    def test_many_sketches_at_once_most_of_them_quickly(self):
        rng = np.random.default_rng(5)
        blobs = [ecm.EcmSketch(CONFIG).serialize()] * 300
        for step in range(12):
            events = [
                (rng.integers(0, 99, count), np.sort(rng.integers(step * 300, step * 300 + 300, count)))
                for count in rng.integers(0, 9, 300)
            ]
            clocks = [step * 300 + 300 if not len(ticks) else NO_CLOCK for _, ticks in events]
            found = append(CONFIG, blobs, events, clocks)
            expected = [
                slowly(CONFIG, data, items, ticks, None if clock == NO_CLOCK else clock).serialize()
                for data, (items, ticks), clock in zip(blobs, events, clocks, strict=True)
            ]
            for mine, theirs in zip(found.sketches, expected, strict=True):
                assert mine in (None, theirs)
            left = sum(mine is None for mine in found.sketches)
            assert left < (300 if step == 0 else 60)  # an empty sketch has no clock to move; sometimes a slice is made
            blobs = expected

    def test_late_events_other_kinds_weights_and_slices_are_left_to_update_many(self):
        sketch = ecm.EcmSketch(CONFIG)
        sketch.update_many(np.arange(5), np.arange(100, 105))
        data = sketch.serialize()
        assert append(CONFIG, [data], [([1], [104])]).sketches[0] == slowly(CONFIG, data, [1], [104]).serialize()
        assert append(CONFIG, [data], [([1], [103])]).sketches == [None]
        assert append(CONFIG, [data], [([1], [104])], kind="t").sketches == [None]
        assert append(CONFIG, [data], [([1], [2**62])]).sketches == [None]
        assert append(CONFIG, [data], [([1, 2], [106, 105])]).sketches == [None]
        assert append(CONFIG, [data], [([], [])], [2**62]).sketches == [None]
        sketch.update(1, 105, 7)
        assert append(CONFIG, [sketch.serialize()], [([1], [106])]).sketches == [None]
        full = ecm.EcmSketch(CONFIG)
        full.update_many(np.arange(5000), np.sort(np.arange(5000) % 900))
        assert append(CONFIG, [full.serialize()], [([1], [1000])]).sketches == [None]
        empty = ecm.EcmSketch(CONFIG).serialize()
        assert append(CONFIG, [empty], [([1], [-(2**61) - 1])]).sketches == [None]
        assert append(CONFIG, [empty], [([], [])], [7]).sketches == [None]
        for many, quickly in ((CONFIG.block - 5, False), (CONFIG.block - 6, True)):
            found = append(CONFIG, [data], [([1] * many, [200] * many)]).sketches[0]
            assert found == (slowly(CONFIG, data, [1] * many, [200] * many).serialize() if quickly else None)

    def test_hostile_bytes_are_left_to_update_many(self):
        """Which says what is wrong with them."""
        sketch = ecm.EcmSketch(CONFIG)
        sketch.update_many(np.arange(50), np.arange(100, 150))
        data = sketch.serialize()
        other = ecm.EcmSketch(CONFIG.replace(epsilon=0.1)).serialize()
        wrongs = (b"", data[:5], data[:-1], data[:-20], data + b"x", b"\0" * 100, other, data[:60] + b"?" + data[61:])
        for wrong in wrongs:
            assert append(CONFIG, [wrong, data], [([1], [200]), ([1], [200])]).sketches == [
                None,
                slowly(CONFIG, data, [1], [200]).serialize(),
            ]

    @pytest.mark.parametrize("events", [0, 1, 40])
    def test_no_byte_can_be_changed_so_that_it_takes_what_load_refuses(self, events):
        blob = made(np.arange(events) % 7, np.arange(events) * 20, 900).serialize()
        changed = [data for data in changes(blob) if refused(data)]
        assert len(changed) > 50
        assert append(CONFIG, changed, [([1], [950])] * len(changed)).sketches == [None] * len(changed)

    def test_arrays_that_do_not_fit_together_are_refused(self):
        data = ecm.EcmSketch(CONFIG).serialize()
        keys, ticks = np.zeros(2, np.uint64), np.zeros(2, np.int64)
        wrong = [([3], [0], 1), ([-1], [0], 1), ([1, 0], [0, 0], 2), ([2], [0, 0], 1), ([], [], 1)]
        for ends, clocks, count in wrong:
            with pytest.raises(ValueError, match="expected"):
                append_events(
                    CONFIG, b"i", [data] * count, keys, ticks, np.array(ends, np.int64), np.array(clocks, np.int64)
                )
        with pytest.raises(ValueError, match="expected"):
            append_events(CONFIG, b"i", [data], keys[:1], ticks, np.array([2]), np.array([0]))

    @pytest.mark.parametrize(
        ("changes", "can"),
        [({}, True), ({"counter": "eh"}, False), ({"heavy_hitters": True}, False), ({"counter": "rw"}, False)],
    )
    def test_which_configs(self, changes, can):
        assert can_append(CONFIG.replace(**changes)) is can
        assert can_append(ecm.PrefixSketch(CONFIG.replace(heavy_hitters=False), bits=8).config) is False


def changes(blob):
    """Each byte changed, and the checksum made right again, as by someone who wants to be believed; and cut ones."""
    body = np.frombuffer(blob[:-8], np.uint8)
    for place in range(len(body)):
        for value in (0, 1, 127, 128, 255, int(body[place]) ^ 1, int(body[place]) ^ 64):
            wrong = body.copy()
            wrong[place] = value
            yield sealed(wrong.tobytes())
    for end in range(len(blob)):
        yield blob[:end]


class TestWriting:
    ticks = st.one_of(st.integers(-50, 50), st.integers(-(2**61), 2**62))
    events = st.lists(st.tuples(st.integers(0, 2**63 - 1), ticks, st.integers(0, 2**53)), min_size=1, max_size=40)

    @given(events, st.booleans(), st.integers(1, 2**40), st.sampled_from(["i", "t", "ti"]))
    def test_bytes_made_from_events_are_those_of_the_sketch(self, rows, weighted, window, kind):
        config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=window)
        items, ticks, weights = (
            np.array(column, np.int64) for column in zip(*sorted(rows, key=lambda row: row[1]), strict=True)
        )
        given_weights = weights if weighted else None
        writer = EventSketchWriter(config, ecm.EcmSketch.type_id, frozenset({kind}))
        fits = not weighted or (bool(weights.all()) and sum(weights.tolist()) <= 2**53)
        assert writer.fits(ticks, given_weights) == fits
        if fits:
            sketch = ecm.EcmSketch(config)
            sketch.update_many(Hashed(items.view(np.uint64), kind), ticks, given_weights)
            assert writer.serialize(items.view(np.uint64), ticks, given_weights) == sketch.serialize()
        else:
            with pytest.raises(ValueError, match="events"):
                writer.serialize(items.view(np.uint64), ticks, given_weights)

    def test_one_writer_serves_many_sketches_and_keeps_nothing_of_them(self):
        rng = np.random.default_rng(0)
        config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=500, merge_depth=1, late="side", unit="s")
        plain = EventSketchWriter(config, ecm.EcmSketch.type_id, INTEGERS)
        prefixes = ecm.PrefixSketch(config, bits=12)
        ranked = EventSketchWriter(prefixes.config, prefixes.type_id, NOTHING)
        for count in (1, 1023, 2, 50):
            items, ticks = rng.integers(0, 4096, count), np.sort(rng.integers(-900, 900, count))
            weights = rng.integers(1, 3, count) if count == 50 else None
            for writer, sketch in ((plain, ecm.EcmSketch(config)), (ranked, ecm.PrefixSketch(config, bits=12))):
                sketch.update_many(items, ticks, weights)
                assert writer.serialize(items.view(np.uint64), ticks, weights) == sketch.serialize()
        none, many = np.empty(0, np.int64), np.zeros(config.block, np.int64)
        assert not plain.fits(none)
        assert not plain.fits(many)
        assert plain.fits(many[1:])
        assert not plain.fits(np.array([2, 1]))
        assert not plain.fits(np.array([-(2**61) - 1, 1]))
        assert not plain.fits(np.array([1, 2**62 + 1]))
        assert not plain.fits(np.array([1, 2]), np.array([1, -1]))
        assert not plain.fits(np.array([1, 2]), np.array([2**53, 1]))
        with pytest.raises(ValueError, match="weights"):
            plain.fits(np.array([1, 2]), np.array([1]))

    def test_only_slices_of_time_without_names_consist_of_events(self):
        made = {"epsilon": 0.1, "delta": 0.1, "window": 100}
        assert consists_of_events(ecm.SketchConfig(**made))
        for changes in ({"counter": "eh"}, {"model": "count"}, {"heavy_hitters": True}):
            assert not consists_of_events(ecm.SketchConfig(**made, **changes))

    @pytest.mark.parametrize("epsilon", [0.1, 0.01, 0.001])
    def test_a_small_stream_is_few_bytes(self, epsilon):
        """Items are hashes, and ticks are seconds of a day: the most bytes that such streams take."""
        config = ecm.SketchConfig(epsilon=epsilon, delta=epsilon, window=86_400, unit="s", merge_depth=1)
        rng = np.random.default_rng(0)
        writer = EventSketchWriter(config, ecm.EcmSketch.type_id, frozenset({"t"}))
        for count, most in ((1, 120), (50, 1000)):
            ticks = np.sort(1_780_000_000 + rng.integers(0, 86_400, count))
            assert len(writer.serialize(rng.integers(0, 2**64, count, np.uint64), ticks)) <= most


def column(blobs, config=CONFIG):
    ends = np.cumsum([len(blob) for blob in blobs])
    return SketchColumn(config, np.frombuffer(b"".join(blobs), np.uint8), np.r_[0, ends[:-1]], ends)


def merged(found, chosen) -> bytes:
    """The bytes of the merged sketch."""
    union = found.gather(chosen)
    counters = None
    if union.stream is not None:
        stream = union.stream if union.is_merged else SliceStream.merge([union.stream], union.now)
        counters = encode(stream, union.now)
    parts = Parts(
        found.config, now=union.now, origin=union.first_tick, late_counted=union.late_counted,
        late_dropped=union.late_dropped, kinds=union.kinds, counters=counters,
    )  # fmt: skip
    return encode_sketch(parts, ecm.EcmSketch.type_id)


class TestMerging:
    sites = st.lists(
        st.tuples(
            st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(0, 1500)), max_size=12),
            st.none() | st.integers(1500, 3000),
            st.sampled_from(["i", "t"]),
        ),
        min_size=1,
        max_size=30,
    )

    @given(sites, st.integers(-(2**61) + 100, 2**62 - 100_000))
    def test_it_is_what_merge_gives(self, sites, start):
        """With distinct ticks byte for byte; events of one tick may come in another order."""
        sketches = [
            made(
                [item for item, _ in events],
                sorted(start + 30 * tick + i for _, tick in events),
                None if clock is None else start + 30 * clock + i,
                kind,
            )
            for i, (events, clock, kind) in enumerate(sites)
        ]
        found = column([sketch.serialize() for sketch in sketches])
        assert found.simple.all()
        mine, expected = merged(found, found.simple), ecm.merge(sketches)
        if all(len({tick for _, tick in events}) == len(events) for events, _, _ in sites):
            assert mine == expected.serialize()
        assert ecm.load(mine).total() == expected.total()

    def test_very_many_become_slices(self):
        blobs = [made([1] * 12, np.arange(12) * 30 + i).serialize() for i in range(30)] * 9
        found = column(blobs)
        assert found.simple.all()
        assert found.gather(found.simple).stream.event_count == 30 * 12 * 9
        assert ecm.load(merged(found, found.simple)).total().value == 30 * 12 * 9

    def test_large_ones_are_not_simple(self):
        rng = np.random.default_rng(2)
        sketches = [made(rng.integers(0, 50, count), np.arange(count) % 900) for count in (5, 40, 8)]
        big = [made(rng.integers(0, 50, 20_000), np.sort(rng.integers(0, 900, 20_000))) for _ in range(2)]
        weighted = made([1], [5])
        weighted.update(1, 6, 3)
        found = column([sketch.serialize() for sketch in [*sketches, *big, weighted]])
        assert found.simple.tolist() == [True, True, True, False, False, False]
        with pytest.raises(ValueError, match="simple"):
            found.gather(np.ones(6, np.bool_))
        with pytest.raises(ValueError, match="simple"):
            found.gather(np.ones(5, np.bool_))
        with pytest.raises(ValueError, match="read-only"):
            found.simple[3] = True

    def test_some_of_them(self):
        sketches = [made([1, 2], [100 * i, 100 * i + 60]) for i in range(4)]
        found = column([sketch.serialize() for sketch in sketches])
        chosen = np.array([False, True, False, True])
        assert merged(found, chosen) == ecm.merge([sketches[1], sketches[3]]).serialize()
        assert merged(found, np.arange(4) == 2) == sketches[2].serialize()
        nothing = found.gather(np.zeros(4, np.bool_))
        assert (nothing.now, nothing.first_tick, nothing.stream, nothing.kinds) == (None, None, None, NOTHING)

    def test_late_arrivals_are_added_up(self):
        sketches = [made([1, 2], [100 * i, 100 * i + 60]) for i in range(4)]
        for sketch in sketches[1:]:
            sketch.update(1, sketch.now - 900)
        found = column([sketch.serialize() for sketch in sketches])
        assert found.simple.all()
        assert found.gather(found.simple).late_dropped == 3
        assert merged(found, found.simple) == ecm.merge(sketches).serialize()

    @pytest.mark.parametrize("other", [{"counter": "eh"}, {"epsilon": 0.1}, {"heavy_hitters": True}, {"window": 999}])
    def test_sketches_of_another_config_are_left(self, other):
        assert not column([made([1], [1], config=CONFIG.replace(**other)).serialize()]).simple.any()

    @pytest.mark.parametrize("events", [0, 1, 40])
    def test_no_byte_can_be_changed_so_that_it_takes_what_load_refuses(self, events):
        blob = made(np.arange(events) % 7, np.arange(events) * 20, 900).serialize()
        changed = [*changes(blob), blob]
        found = column(changed)
        assert found.simple[-1]
        assert [data for i, data in enumerate(changed) if found.simple[i] and refused(data)] == []
        for i in np.flatnonzero(found.simple).tolist():
            assert merged(found, np.arange(len(changed)) == i) == changed[i]

    def test_a_wrong_checksum_is_not_simple(self):
        blob = bytearray(made([1, 2], [3, 4]).serialize())
        blob[-1] ^= 1
        assert not column([bytes(blob)]).simple.any()

    def test_kinds_are_told_apart_exactly_and_too_many_are_left(self):
        kinds = ["i" * n for n in range(1, 60)] + ["t" * n for n in range(1, 60)]
        found = column([made([1], [1], kind=kind).serialize() for kind in kinds])
        assert found.simple.tolist() == [True] * 64 + [False] * (len(kinds) - 64)
        assert found.gather(np.arange(len(kinds)) < 2).kinds == {"i", "ii"}

    def test_places_outside_the_data_are_not_simple(self):
        blob = made([1], [1]).serialize()
        data, size = np.frombuffer(blob, np.uint8), len(blob)
        for begin, end in ((-1, size), (0, size + 1), (size, 0), (size, size), (0, 7), (2**62, 2**62 + 5)):
            assert not SketchColumn(CONFIG, data, np.array([begin]), np.array([end])).simple.any()
        assert SketchColumn(CONFIG, data, np.array([0, 0]), np.array([size, size])).simple.all()
        assert not SketchColumn(CONFIG, data[:0], np.array([0]), np.array([0])).simple.any()
        with pytest.raises(ValueError, match="ends"):
            SketchColumn(CONFIG, data, np.array([0, 0]), np.array([size]))


def test_without_memory_nothing_is_lost():
    blobs = [made(np.arange(n) % 7, np.arange(n) * 20).serialize() for n in (1, 4, 40)]
    writer = EventSketchWriter(CONFIG, ecm.EcmSketch.type_id, INTEGERS)
    keys, ticks = np.arange(300, dtype=np.uint64), np.arange(300)
    works = [
        lambda: append(CONFIG, blobs, [([1], [2000])] * 3).sketches,
        lambda: merged(column(blobs), np.ones(3, np.bool_)),
        lambda: EventSketchWriter(CONFIG, ecm.EcmSketch.type_id, INTEGERS).serialize(keys, ticks),
    ]
    for work in works:
        before = allocations()
        expected = work()
        needed = allocations() - before
        assert needed > 0
        for fewer in range(needed):
            fail_after(fewer)
            try:
                with pytest.raises(MemoryError):
                    work()
            finally:
                fail_after(-1)
        assert work() == expected
    fail_after(0)
    try:
        with pytest.raises(MemoryError):
            writer.serialize(keys, ticks)
    finally:
        fail_after(-1)
    assert writer.serialize(keys, ticks) == works[2]()
    assert decode_sketch(writer.serialize(keys, ticks), ecm.EcmSketch.type_id).now == 299
