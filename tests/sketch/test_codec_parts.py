"""The codec on plain values: golden files come back as parts and go out again; what no state has is refused."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.config import PrefixConfig
from ecmsketch.config.sketch_config import CHOICES
from ecmsketch.errors import ConfigError, EcmError, FormatError
from ecmsketch.kernels.packing import get_scalar, put_scalar
from ecmsketch.sketch.codec import (
    CHOICE_BITS,
    KIND_PREFIX,
    KIND_SKETCH,
    NONE_HELD,
    UNLIMITED,
    Frequent,
    Held,
    Parts,
    decode_config,
    decode_sketch,
    encode_config,
    encode_sketch,
    kind_in,
    summarize,
)
from hand_written import config_bytes, sealed, sketch_bytes, state_bytes

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("v1-*.ecms"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_files_come_back_as_parts_and_go_out_again(path):
    data = path.read_bytes()
    type_id = kind_in(data)
    parts = decode_sketch(data, type_id, None)
    assert encode_sketch(parts, type_id) == data
    about = summarize(data)
    assert about == (type_id, parts.config, parts.now, parts.origin, parts.kinds)
    assert parts.most == UNLIMITED
    assert decode_sketch(bytearray(data), type_id).most == max(2**26, 128 * (len(data) - 8))
    assert (parts.frequent is not None) == parts.config.heavy_hitters
    with pytest.raises(FormatError, match=r"expected an? "):
        decode_sketch(data, 1 - type_id)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_cut_and_longer_files_are_refused(path):
    data = path.read_bytes()
    type_id, body = kind_in(data), data[:-8]
    for length in {*range(min(len(body), 100)), *range(len(body) - 30, len(body))}:
        with pytest.raises(FormatError):
            decode_sketch(sealed(body[:length]), type_id, None)
    for other in (sealed(body + b"\0"), data[:-1], data + b"\0", body + bytes(8)):
        with pytest.raises(FormatError):
            decode_sketch(other, type_id, None)


CONFIG = ecm.SketchConfig(epsilon=0.9, delta=0.5, window=50, counter="eh", late="side")


def held(ticks, keys=None, weights=None):
    return Held(
        np.array(ticks, np.int64),
        np.array(keys if keys is not None else range(len(ticks)), np.uint64),
        np.array(weights if weights is not None else [1] * len(ticks), np.int64),
    )


def test_everything_that_parts_hold_comes_back():
    parts = Parts(
        ecm.SketchConfig(epsilon=0.9, delta=0.5, window=50, counter="rw", late="side", heavy_hitters=True),
        2**64 - 1, 1000, -5, 3, 960, 7, 2**40, held([961, 961, 1000], [5, 2**64 - 1, 0], [1, 2, 2**40]),
        frozenset({"i", "t"}), b"counters", b"", Frequent(b"on time", b"", b"names"), UNLIMITED,
    )  # fmt: skip
    again = decode_sketch(encode_sketch(parts, KIND_SKETCH), KIND_SKETCH, None)
    for name, mine, theirs in zip(Parts._fields, again, parts, strict=True):
        if name == "held":
            for one, other in zip(mine, theirs, strict=True):
                np.testing.assert_array_equal(one, other)
        else:
            assert mine == theirs, name
    empty = decode_sketch(encode_sketch(Parts(CONFIG), KIND_SKETCH), KIND_SKETCH, None)
    assert empty == Parts(CONFIG)
    assert empty.held is NONE_HELD


def late(frontier, ticks, weights=None, now=100, **more):
    parts = Parts(CONFIG, now=now, origin=0, frontier=frontier, late_counted=3, held=held(ticks, None, weights), **more)
    return encode_sketch(parts, KIND_SKETCH)


@pytest.mark.parametrize("frontier", [90, -(2**61)])
def test_held_late_arrivals_lie_after_the_frontier(frontier):
    assert decode_sketch(late(frontier, [frontier + 1, 100]), KIND_SKETCH).held.ticks.tolist() == [frontier + 1, 100]
    for ticks in ([frontier], [frontier, 100], [frontier - 1, 100]):
        with pytest.raises(FormatError, match=r"should be settled|not sorted positive counts"):
            decode_sketch(late(frontier, ticks), KIND_SKETCH)


@pytest.mark.parametrize(
    ("ticks", "weights"),
    [([95, 94], None), ([95, 101], None), ([95], [0]), ([95], [-1]), ([95], [2**53 + 2]), ([95, 96], [2**62, 2**62])],
)
def test_held_late_arrivals_are_sorted_positive_counts(ticks, weights):
    with pytest.raises(FormatError, match="not sorted positive counts before its clock"):
        decode_sketch(late(90, ticks, weights), KIND_SKETCH)


def test_sketches_without_late_counters_have_none():
    for changes in ({"model": "count"}, {"counter": "slices"}):
        config = CONFIG.replace(**changes)
        for more in ({"held": held([95])}, {"settled": b"x"}):
            data = encode_sketch(Parts(config, now=100, origin=0, counters=b"x", **more), KIND_SKETCH)
            with pytest.raises(FormatError, match="more late arrivals than can be"):
                decode_sketch(data, KIND_SKETCH)


def test_parts_that_do_not_fill_the_bytes_are_refused():
    config, state = config_bytes(late="side"), {"flags": 7, "now": 9, "origin": 9}
    assert decode_sketch(sketch_bytes(config, state_bytes(**state, sizes=(3, 0)), b"abc"), 0).counters == b"abc"
    for sizes, kinds in (((2, 0), 0), ((4, 0), 0), ((3, 0), 1), ((2**63, 0), 0)):
        with pytest.raises(FormatError, match="parts add up to"):
            decode_sketch(sketch_bytes(config, state_bytes(**state, sizes=sizes, kinds=kinds), b"abc"), 0)
    huge = state_bytes(35, now=9, origin=9, late=(0, 0, 0, 2**60))
    with pytest.raises(FormatError, match="parts add up to"):
        decode_sketch(sketch_bytes(config, huge), 0)
    with pytest.raises(FormatError, match="item kinds: expected none in a PrefixSketch"):
        decode_sketch(sketch_bytes(config_bytes(domain=(8, 4)), state_bytes(kinds=1), b"i", 1), KIND_PREFIX)


@pytest.mark.parametrize(
    ("flags", "sizes", "content", "says"),
    [
        (0, (0, 0, 0), b"", "no others"), (3, (0, 0, 0), b"", "no others"), (4, (0, 0, 0), b"", "expected"),
        (1, (1, 0, 0), b"", "expected 26 bytes of them, got 25"), (1, (0, 0, 0), b"x", "got 26"),
        (1, (0, 1, 0), b"x", "a part that is not there"), (1, (2**63, 2**63, 0), b"", "bytes of them"),
        (1, (1, 0, 2), b"xyz", None),
    ],
)  # fmt: skip
def test_frequent_items_are_there_for_all_counters_and_no_others(flags, sizes, content, says):
    state = state_bytes(7 | 16, now=9, origin=9, sizes=(3, 0))
    data = sketch_bytes(config_bytes(), state, b"abc" + struct.pack("<BQQQ", flags, *sizes) + content)
    if says is None:
        assert decode_sketch(data, 0).frequent == Frequent(b"x", None, b"yz")
        return
    with pytest.raises(FormatError, match=says):
        decode_sketch(data, 0)
    with pytest.raises(FormatError, match="frequent items: they are missing"):
        decode_sketch(sketch_bytes(config_bytes(), state, b"abc" + bytes(24)), 0)


@given(st.binary(max_size=200))
def test_random_bytes_are_no_sketch(data):
    for given_bytes in (data, sealed(data), sealed(b"ECMS\x01\x00\x14" + data)):
        with contextlib.suppress(FormatError):
            parts = decode_sketch(given_bytes, KIND_SKETCH)
            assert encode_sketch(parts, KIND_SKETCH) == given_bytes


NUMBERS = st.one_of(st.integers(0, 300), st.integers(0, 2**64 - 1))
FIELDS = {
    "epsilon": st.floats(1e-3, 0.99),
    "delta": st.floats(1e-12, 0.99),
    "window": st.integers(1, 2**59),
    "merge_depth": st.integers(0, 64),
    "seed": NUMBERS,
    "lateness": st.none() | st.integers(0, 2**59),
    "resolution": st.none() | st.floats(1e-3, 0.99),
    "max_arrivals": st.none() | st.integers(1, 2**53),
    "wave_constant": st.none() | st.floats(1, 1000),
    "wave_instances": st.integers(1, 99),
    "heavy_hitters": st.booleans(),
    **{name: st.sampled_from(choices) for name, choices in CHOICES.items()},
}


@st.composite
def configs(draw):
    """Any config that is allowed."""
    fields = {name: draw(values) for name, values in FIELDS.items()}
    if fields["lateness"] is not None:
        fields["lateness"] = min(fields["lateness"], fields["window"])
    if fields["counter"] == "rw":
        fields["optimize_for"] = "point"
    domain = draw(st.none() | st.tuples(st.integers(1, 64), st.sampled_from([2, 16, 256])))
    try:
        if domain is None:
            return ecm.SketchConfig(**fields)
        return PrefixConfig(**{**fields, "heavy_hitters": False}, bits=domain[0], radix=domain[1])
    except ConfigError:
        return ecm.SketchConfig(**{**fields, "counter": "eh", "epsilon": 0.1, "heavy_hitters": False})


class TestConfigs:
    def test_the_fields_tried_are_all_fields(self):
        assert set(FIELDS) == set(ecm.SketchConfig.__dataclass_fields__)
        assert set(CHOICE_BITS) == set(CHOICES)

    @given(configs(), configs())
    def test_configs_come_back_from_their_bytes_and_differ_where_they_differ(self, config, other):
        data = encode_config(config)
        assert decode_config(data, isinstance(config, PrefixConfig), config.heavy_hitters) == config
        if type(config) is type(other):
            named = {"heavy_hitters": False}
            assert (data == encode_config(other)) == (config.replace(**named) == other.replace(**named))

    @given(configs(), st.data())
    def test_changed_bytes_are_refused_or_are_the_one_encoding_of_another_config(self, config, data):
        prefix = isinstance(config, PrefixConfig)
        body = bytearray(encode_config(config))
        at = data.draw(st.integers(0, len(body) - 1))
        if data.draw(st.booleans()):
            body[at] = data.draw(st.integers(0, 255))
        else:
            body[at : at + 1] = data.draw(st.binary(max_size=4))
        with contextlib.suppress(EcmError):
            assert encode_config(decode_config(bytes(body), prefix, False)) == bytes(body)

    @given(configs())
    def test_every_truncation_and_every_byte_too_many_is_noticed(self, config):
        data, prefix = encode_config(config), isinstance(config, PrefixConfig)
        for length in range(len(data)):
            with pytest.raises(FormatError):
                decode_config(data[:length], prefix, False)
        with pytest.raises(FormatError):
            decode_config(data + b"\0", prefix, False)

    @given(st.integers(0, 2**64 - 1), st.binary(max_size=3), st.binary(max_size=3))
    def test_numbers_come_back(self, number, before, after):
        data = before + put_scalar(number) + after
        assert get_scalar(data, len(before)) == (number, len(data) - len(after))

    @given(st.binary(max_size=12))
    def test_any_bytes_are_one_number_or_none(self, data):
        number, after = get_scalar(data, 0)
        assert after == -1 or put_scalar(number) == data[:after]
