"""Events put into the bytes of small sketches: the very bytes that update_many, advance and serialize give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.inputs.kinds import Hashed, encode_kinds
from ecmsketch.sketch.small_sketches import append_events, can_append

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
def test_bytes_are_those_of_one_sketch_after_the_other(sites, start, kind):
    """Gaps below zero make events late: those are left to update_many."""
    empty = ecm.EcmSketch(CONFIG).serialize()
    quick = 0
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
            data = expected.serialize()
            assert found.sketches[0] in (None, data)
            if found.sketches[0] is not None:
                quick += 1
                assert found.late_counted == [expected.late_counted]
                assert found.late_dropped == [expected.late_dropped]
            tick = max(ticks, default=tick)
    assert quick or any(not events or min(gap for _, gap in events) < 0 for site in sites for events, _ in site[:1])


def test_many_sketches_at_once_most_of_them_quickly():
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


def test_late_events_other_kinds_weights_and_slices_are_left_to_update_many():
    sketch = ecm.EcmSketch(CONFIG)
    sketch.update_many(np.arange(5), np.arange(100, 105))
    data = sketch.serialize()
    assert append(CONFIG, [data], [([1], [104])]).sketches[0] == slowly(CONFIG, data, [1], [104]).serialize()
    assert append(CONFIG, [data], [([1], [103])]).sketches == [None]
    assert append(CONFIG, [data], [([1], [104])], kind="t").sketches == [None]
    assert append(CONFIG, [data], [([1], [2**62])]).sketches == [None]
    sketch.update(1, 105, 7)
    assert append(CONFIG, [sketch.serialize()], [([1], [106])]).sketches == [None]
    full = ecm.EcmSketch(CONFIG)
    full.update_many(np.arange(5000), np.sort(np.arange(5000) % 900))
    assert append(CONFIG, [full.serialize()], [([1], [1000])]).sketches == [None]
    many = CONFIG.block
    assert append(CONFIG, [data], [([1] * many, [200] * many)]).sketches == [None]


def test_hostile_bytes_are_left_to_update_many():
    """Which says what is wrong with them."""
    sketch = ecm.EcmSketch(CONFIG)
    sketch.update_many(np.arange(50), np.arange(100, 150))
    data = sketch.serialize()
    other = ecm.EcmSketch(CONFIG.replace(epsilon=0.1)).serialize()
    for wrong in (b"", data[:5], data[:-1], data[:-20], data + b"x", b"\0" * 100, other, data[:60] + b"?" + data[61:]):
        assert append(CONFIG, [wrong, data], [([1], [200]), ([1], [200])]).sketches == [
            None,
            slowly(CONFIG, data, [1], [200]).serialize(),
        ]


@pytest.mark.parametrize(
    ("changes", "can"),
    [({}, True), ({"counter": "eh"}, False), ({"heavy_hitters": True}, False), ({"counter": "rw"}, False)],
)
def test_which_configs(changes, can):
    assert can_append(CONFIG.replace(**changes)) is can
