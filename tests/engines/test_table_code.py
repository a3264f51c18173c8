"""Tables as bits, and forecasts: read back as they were, in few bits; nothing but what was written is accepted."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecmsketch.engines.slices.table_code import forecast_codes, read_numbers, write_numbers
from made_tables import table_of

sys.path.insert(0, str(Path(__file__).parent))
from handmade_slices import Forecasts, bits_of_number, coded, parameter_of

MOST_PARAMETER = 53


@given(st.integers(1, 200), st.integers(0, 2**32))
def test_numbers_are_written_as_the_format_page_says_and_are_read_back(cells, seed):
    table = table_of(cells, np.random.default_rng(seed))
    parameter, data = write_numbers(table)
    assert parameter == parameter_of(table.tolist())
    assert data == coded(table.tolist(), parameter)
    np.testing.assert_array_equal(read_numbers(data, parameter, cells), table)


@given(st.lists(st.integers(0, 53).map(lambda bits: 2**bits) | st.integers(0, 300), min_size=1, max_size=40))
def test_powers_of_two_and_their_neighbours(numbers):
    for less in (0, 1):
        table = np.array([max(number - less, 0) for number in numbers], np.int64)
        parameter, data = write_numbers(table)
        assert (parameter, data) == (parameter_of(table.tolist()), coded(table.tolist(), parameter))
        np.testing.assert_array_equal(read_numbers(data, parameter, len(table)), table)


def test_the_example_of_the_format_page():
    assert write_numbers(np.array([1, 1, 5, 0])) == (1, b"\xf7\x80")


def test_small_cells_take_about_a_bit():
    assert write_numbers(np.zeros(800, np.int64)) == (0, b"\xff" * 100)
    assert len(write_numbers(np.random.default_rng(0).poisson(3, 1000))[1]) <= 500


@given(st.integers(1, 60), st.integers(0, 2**32), st.integers(0, MOST_PARAMETER))
def test_other_bytes_are_refused_or_are_those_of_numbers(cells, seed, parameter):
    """Random and changed bytes: never a number beyond 2**53, or bits that are not used."""
    rng = np.random.default_rng(seed)
    fitting, good = write_numbers(table_of(cells, rng))
    changed = bytearray(good)
    changed[int(rng.integers(0, len(good)))] ^= 1 << int(rng.integers(0, 8))
    noise = rng.integers(0, 256, int(rng.integers(1, 9 * cells))).astype(np.uint8)
    sparse = (noise & rng.integers(0, 256, len(noise)).astype(np.uint8)) & np.uint8(17)
    tried = ((changed, fitting), (good[:-1], fitting), (noise, parameter), (sparse, parameter), (good + b"\0", fitting))
    for data, used in tried:
        numbers = read_numbers(bytes(data), used, cells)
        if numbers is not None:
            assert 0 <= numbers.min() <= numbers.max() <= 2**53
            assert coded(numbers.tolist(), used) == bytes(data)
    assert read_numbers(good + b"\0", fitting, cells) is None


@pytest.mark.parametrize("parameter", [0, 1, 20, 52])
def test_the_largest_number(parameter):
    for number, fits in ((2**53, True), (2**53 + 1, False), (2**54 - 1, False)):
        found = read_numbers(coded([number, 0], parameter), parameter, 2)
        assert (found is not None) == fits
        assert found is None or found.tolist() == [number, 0]
    assert len(bits_of_number(2**53, 0)) == 107


def test_the_forecast_of_the_format_page():
    tables = np.array([[4, 0, 8, 4], [2, 1, 5, 2]])
    assert forecast_codes(tables, np.array([16, 10])) == [(False, [4, 0, 8, 4]), (True, [1, 2, 0, 1])]


@given(
    st.lists(st.lists(st.integers(0, 2**44), min_size=5, max_size=5).filter(any), min_size=2, max_size=6), st.booleans()
)
def test_forecasts_are_those_of_plain_python(rows, alike):
    if alike:  # neighbours that differ little, so that differences are written
        rows = [[cell + i for cell in rows[0]] for i in range(len(rows))]
    known = Forecasts(5)
    arrivals = [sum(row) for row in rows]
    expected = [known.write(row, count) for row, count in zip(rows, arrivals, strict=True)]
    assert forecast_codes(np.array(rows, np.int64), np.array(arrivals, np.int64)) == expected
    assert not alike or max(rows[0]) < 50 or any(differs for differs, _ in expected)


def test_a_slice_with_very_many_arrivals_has_no_forecast():
    for arrivals, differs in ((2**50, True), (2**50 + 2, False)):
        table = [arrivals // 2, arrivals // 2]
        assert forecast_codes(np.array([table, table]), np.array([arrivals] * 2))[1][0] is differs
