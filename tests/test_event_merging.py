"""Small sketches merged from their bytes: what `merge` gives, and nothing is taken that `load` would refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from xxhash import xxh64_intdigest

import ecmsketch as ecm
from ecmsketch.errors import FormatError
from ecmsketch.inputs.kinds import Hashed
from ecmsketch.sketch.small_sketches import SmallSketches

CONFIG = ecm.SketchConfig(epsilon=0.2, delta=0.2, window=1000, unit="s", late="side", lateness=50)


def small(blobs, config=CONFIG):
    ends = np.cumsum([len(blob) for blob in blobs])
    return SmallSketches(config, np.frombuffer(b"".join(blobs), np.uint8), np.r_[0, ends[:-1]], ends)


def made(items, ticks, clock=None, kind="i", config=CONFIG):
    sketch = ecm.EcmSketch(config)
    if len(ticks):
        sketch.update_many(Hashed(np.array(items, np.int64), kind), np.array(ticks, np.int64))
    if clock is not None:
        sketch.advance(clock)
    return sketch


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
@example([([], None, "i"), ([], None, "i")], 0)
@example([([(1, 0), (1, 40)], None, "i"), ([], 2000, "i")], 7)
@example([([(1, i) for i in range(12)], None, "i")] * 30, 7)
def test_it_is_what_merge_gives(sites, start):
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
    found = small([sketch.serialize() for sketch in sketches])
    assert found.simple.all()
    merged, expected = found.merge(found.simple), ecm.merge(sketches)
    distinct = all(len({tick for _, tick in events}) == len(events) for events, _, _ in sites)
    if distinct:
        assert merged.serialize() == expected.serialize()
    assert (merged.now, merged.first_tick, merged.kinds) == (expected.now, expected.first_tick, expected.kinds)
    assert merged.merge_levels == 0
    if merged.now is not None:
        assert merged.total() == expected.total()
        assert merged.total(last=300) == expected.total(last=300)
    if merged.kinds == {"i"}:
        for item in {item for events, _, _ in sites for item, _ in events[:3]}:
            assert merged.estimate(item) == expected.estimate(item)


def test_large_ones_are_merged_with_the_small_in_one_step():
    rng = np.random.default_rng(2)
    sketches = [made(rng.integers(0, 50, count), np.arange(count) % 900) for count in (5, 40, 8)]
    big = [made(rng.integers(0, 50, 20_000), np.sort(rng.integers(0, 900, 20_000))) for _ in range(2)]
    found = small([sketch.serialize() for sketch in [*sketches, *big]])
    assert found.simple.tolist() == [True, True, True, False, False]
    merged, expected = found.merge(found.simple, big), ecm.merge([*sketches, *big])
    assert merged.merge_levels == expected.merge_levels == 1
    assert merged.total() == expected.total()
    one = found.merge(found.simple, big[:1])
    assert one.merge_levels == ecm.merge([*sketches, big[0]]).merge_levels == 0


def test_late_arrivals_are_added_up():
    sketches = [made([1, 2], [100 * i, 100 * i + 60]) for i in range(4)]
    for sketch in sketches[1:]:
        sketch.update(1, sketch.now - 900)
    found = small([sketch.serialize() for sketch in sketches])
    merged = found.merge(found.simple)
    assert found.simple.all()
    assert merged.late_dropped == 3
    assert merged.serialize() == ecm.merge(sketches).serialize()


@pytest.mark.parametrize("other", [{"counter": "eh"}, {"epsilon": 0.1}, {"heavy_hitters": True}, {"window": 999}])
def test_sketches_of_another_config_are_left(other):
    assert not small([made([1], [1], config=CONFIG.replace(**other)).serialize()]).simple.any()


def refused(blob):
    try:
        ecm.load(blob)
    except FormatError:
        return True
    return False


@pytest.mark.parametrize("events", [0, 1, 40])
def test_no_byte_can_be_changed_so_that_it_takes_what_load_refuses(events):
    """Each byte is changed, and the checksum made right again, as by someone who wants to be believed."""
    blob = made(np.arange(events) % 7, np.arange(events) * 20, 900).serialize()
    body = np.frombuffer(blob[:-8], np.uint8)
    changed = []
    for place in range(len(body)):
        for value in (0, 1, 127, 128, 255, int(body[place]) ^ 1, int(body[place]) ^ 64):
            wrong = body.copy()
            wrong[place] = value
            changed.append(wrong.tobytes() + xxh64_intdigest(wrong.tobytes(), 0).to_bytes(8, "little"))
    for end in range(len(blob)):
        changed.append(blob[:end])
    found = small([*changed, blob])
    assert found.simple[-1]
    wrongly = [i for i, data in enumerate(changed) if found.simple[i] and refused(data)]
    assert wrongly == []
    alike = [data for i, data in enumerate(changed) if found.simple[i]]
    assert all(small([data]).merge(np.array([True])).total() == ecm.load(data).total() for data in alike if events)


def test_a_wrong_checksum_is_not_simple():
    blob = bytearray(made([1, 2], [3, 4]).serialize())
    blob[-1] ^= 1
    assert not small([bytes(blob)]).simple.any()
