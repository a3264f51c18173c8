from __future__ import annotations

import math
from ipaddress import IPv4Address, IPv6Address

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.domains import floats, ipv4, ipv6, network_range
from ecmsketch.errors import InputError


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=30))
def test_floats_keep_their_order_and_their_value(values):
    numbers = floats.encode(values)
    assert (np.argsort(numbers, kind="stable") == np.argsort(np.array(values) + 0.0, kind="stable")).all()
    for value, number in zip(values, numbers.tolist(), strict=True):
        assert floats.name(number) == value


def test_not_a_number_has_no_place():
    with pytest.raises(InputError, match="1 of 2 are NaN"):
        floats.encode([1.0, math.nan])


@pytest.mark.parametrize(
    "values",
    [
        np.ma.array([1.0, 2.0], mask=[0, 1]), np.array(["NaT"], "M8[s]"), np.array([5], "M8[s]"),
        [np.datetime64("NaT")], np.array([5], "m8[s]"), [pd.NaT], [pd.NA, 1.0], [None, 1.0],
        pd.Series([1.5, None], dtype="Float64"), pa.array([1.5, None]), [1j], np.array([1 + 1j]), [10**400], [object()],
    ],
)  # fmt: skip
def test_what_is_missing_or_no_number_is_not_encoded(values):
    with pytest.raises(InputError, match="floats"):
        floats.encode(values)


def test_one_value_or_a_column():
    expected = floats.encode([2.5]).tolist()
    for values in (2.5, np.float32(2.5), np.array(2.5), iter([2.5]), pa.array([2.5]), pd.Series([2.5]), (2.5,)):
        assert floats.encode(values).tolist() == expected
    for addresses in (pa.array(["0.0.0.9"]), pd.Series(["0.0.0.9"]), np.array([9]), 9, "0.0.0.9", {"0.0.0.9"}):
        assert ipv4.encode(addresses).tolist() == [9]
    with pytest.raises(InputError, match="1 of 2 are missing"):
        ipv4.encode(["0.0.0.9", None])


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20))
def test_ipv4_addresses_keep_their_order_and_their_name(numbers):
    names = [str(IPv4Address(number)) for number in numbers]
    assert ipv4.encode(names).tolist() == numbers
    assert [ipv4.name(number) for number in numbers] == names


@given(st.lists(st.integers(0, 2**128 - 1), min_size=1, max_size=20))
def test_ipv6_addresses_are_known_by_their_network(numbers):
    assert ipv6.encode([str(IPv6Address(number)) for number in numbers]).tolist() == [n >> 64 for n in numbers]
    assert ipv6.name(0x2001_0DB8 << 32) == "2001:db8::/64"


@pytest.mark.parametrize("wrong", ["10.0.0", "::1", "host", ""])
def test_what_is_no_address_says_so(wrong):
    with pytest.raises(InputError, match="IPv4 addresses"):
        ipv4.encode([wrong])
    with pytest.raises(InputError, match="address block"):
        network_range(f"{wrong}/99")


def test_nonsense_says_so():
    for ask in (
        lambda: floats.encode(["x"]), lambda: floats.encode([[1.0]]), lambda: floats.name(2**70),
        lambda: floats.name(0.5),
        lambda: ipv4.name(2**40), lambda: ipv4.encode([[1]]), lambda: network_range(None), lambda: network_range(5),
    ):  # fmt: skip
        with pytest.raises(InputError, match="expected"):
            ask()


def test_networks_are_ranges():
    assert network_range("10.0.0.0/8") == (10 << 24, (11 << 24) - 1)
    assert network_range("2001:db8::/32") == (0x2001_0DB8 << 32, (0x2001_0DB9 << 32) - 1)
    sketch = ecm.PrefixSketch(ecm.SketchConfig(epsilon=0.01, delta=0.01, window=100), bits=ipv4.bits)
    sketch.update_many(ipv4.encode(["10.1.2.3", "10.9.9.9", "11.0.0.1"]), [1, 2, 3])
    assert sketch.range_sum(*network_range("10.0.0.0/8")).value == 2
    assert [ipv4.name(hitter.item) for hitter in sketch.heavy_hitters(0.3)] == ["10.1.2.3", "10.9.9.9", "11.0.0.1"]


def test_quantiles_of_floats():
    rng = np.random.default_rng(0)
    latencies = rng.lognormal(-2, 1, 20_000)
    sketch = ecm.PrefixSketch(ecm.SketchConfig(epsilon=0.01, delta=0.01, window=20_000), bits=64)
    sketch.update_many(floats.encode(latencies), np.arange(20_000))
    for q in (0.5, 0.99):
        found = sketch.quantile(q, last=5000)
        exact = np.sort(latencies[-5000:])[int(np.ceil(q * 5000)) - 1]
        assert floats.name(found.lower) <= exact <= floats.name(found.upper)
        assert floats.name(found.value) == pytest.approx(exact, rel=0.1)
