"""Every config has one encoding, which gives it back."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.config import PrefixConfig
from ecmsketch.config.sketch_config import CHOICES
from ecmsketch.errors import ConfigError, EcmError, FormatError
from ecmsketch.kernels.packing import get_scalar, put_scalar
from ecmsketch.sketch.codec import CHOICE_BITS, decode_config, encode_config
from ecmsketch.sketch.field_reader import FieldReader, zigzag

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


def test_the_fields_tried_are_all_fields():
    assert set(FIELDS) == set(ecm.SketchConfig.__dataclass_fields__)
    assert set(CHOICE_BITS) == set(CHOICES)


@given(configs(), configs())
def test_configs_come_back_from_their_bytes_and_differ_where_they_differ(config, other):
    data = encode_config(config)
    assert decode_config(data, isinstance(config, PrefixConfig), config.heavy_hitters) == config
    if type(config) is type(other):
        named = {"heavy_hitters": False}
        assert (data == encode_config(other)) == (config.replace(**named) == other.replace(**named))


@given(configs(), st.data())
def test_changed_bytes_are_refused_or_are_the_one_encoding_of_another_config(config, data):
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
def test_every_truncation_and_every_byte_too_many_is_noticed(config):
    data, prefix = encode_config(config), isinstance(config, PrefixConfig)
    for length in range(len(data)):
        with pytest.raises(FormatError):
            decode_config(data[:length], prefix, False)
    with pytest.raises(FormatError):
        decode_config(data + b"\0", prefix, False)


@given(st.integers(0, 2**64 - 1), st.binary(max_size=3), st.binary(max_size=3))
def test_numbers_come_back(number, before, after):
    data = before + put_scalar(number) + after
    assert get_scalar(data, len(before)) == (number, len(data) - len(after))


@given(st.binary(max_size=12))
def test_any_bytes_are_one_number_or_none(data):
    number, after = get_scalar(data, 0)
    assert after == -1 or put_scalar(number) == data[:after]


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_of_either_sign_come_back(number):
    assert FieldReader(put_scalar(zigzag(number)), 0, "a number").signed() == number
