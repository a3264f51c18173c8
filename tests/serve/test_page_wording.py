"""Numbers, lengths and texts as the page says them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecmsketch.estimate import Estimate
from ecmsketch.serve.page.page_times import moment_words, step_labels
from ecmsketch.serve.page.wording import (
    bounds_words,
    bytes_words,
    count_words,
    cut,
    key_of,
    last_words,
    length_words,
    share_words,
)


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0"), (1234.4, "1,234"), (9_999_999, "9,999,999"), (12_345_678, "12.35 M"), (5e9, "5 G"), (2e12, "2 T")],
)
def test_counts(count, words):
    assert count_words(count) == words


def test_bounds_shares_and_bytes():
    assert bounds_words(Estimate(5, 5, 5, 1)) == "exact"
    assert bounds_words(Estimate(5, 4, 1200, 0.9)) == "4 to 1,200"
    assert [share_words(share) for share in (0.00123, 0.0456, 0.5, 1)] == ["0.12 %", "4.6 %", "50 %", "100 %"]
    assert [bytes_words(number) for number in (12, 2048, 3 * 2**20)] == ["12 bytes", "2.0 KB", "3.0 MB"]


@pytest.mark.parametrize(
    ("ticks", "unit", "short", "long"),
    [
        (60, "s", "1m", "1 minute"),
        (300, "s", "5m", "5 minutes"),
        (5400, "s", "1.5h", "1.5 hours"),
        (86_400_000, "ms", "1d", "1 day"),
        (3, "D", "3d", "3 days"),
        (1500, None, "1.5k", "1,500 ticks"),
    ],
)
def test_lengths(ticks, unit, short, long):
    assert length_words(ticks, unit, short=True) == short
    assert length_words(ticks, unit) == long
    assert last_words(ticks, unit) == "last " + long.removeprefix("1 ")


@given(st.text(max_size=300))
def test_texts_are_cut_visibly_and_keys_tell_them_apart(text):
    shown = cut(text, 50)
    assert len(shown) <= 50
    assert shown.isprintable()
    assert len(key_of(text)) == 16
    assert key_of(text) != key_of(text + "x")


def test_times_of_steps_are_short():
    assert step_labels([0, 60], "s") == ["00:00", "00:01"]
    assert step_labels([0, 61], "s") == ["00:00:00", "00:01:01"]
    assert step_labels([0, 10 * 86_400], "s") == ["01-01 00:00", "01-11 00:00"]
    assert step_labels([1000, 2000], None) == ["1,000", "2,000"]
    assert moment_words(0, "s") == "1970-01-01 00:00:00 UTC"
    assert moment_words(7, None) == "tick 7"
