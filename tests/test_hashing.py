from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from ecmsketch.errors import InputError
from ecmsketch.inputs.items import hash_item, hash_items
from ecmsketch.kernels.hashing import (
    RowHashes,
    cells_of,
    direct_row,
    hash_bytes,
    hash_many,
    hash_text,
    mix,
    row_hashes,
    stack_rows,
)

CHUNK = 4096
"""Items hashed at a time in all rows."""

VECTORS = json.loads((Path(__file__).parent / "vectors" / "hashing.json").read_text())
TEXTS = ["", "a", "10.0.0.1", "/index.html", "é日本語", "x" * 31, "x" * 32, "x" * 33, "y" * 200]


def test_published_vectors_of_items():
    for vector in VECTORS["items"]:
        item = bytes.fromhex(vector["bytes"]) if "bytes" in vector else vector.get("text", vector.get("integer"))
        assert hash_item(item) == int(vector["hash"])
        assert hash_items([item])[0] == int(vector["hash"])


def test_published_vectors_of_cells():
    for vector in VECTORS["cells"]:
        rows = row_hashes(vector["seed"], vector["depth"], vector["width"])
        items = np.array([int(item) for item in vector["items"]], np.uint64)
        assert cells_of(items, rows).T.tolist() == vector["cells"]


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=80), max_size=20))
def test_the_kernel_is_xxhash64_with_seed_42(texts):
    expected = [xxhash.xxh64_intdigest(text.encode(), 42) for text in texts]
    assert hash_items(pa.array(texts, pa.string())).tolist() == expected
    assert hash_items(texts).tolist() == expected
    assert [hash_item(text) for text in texts] == expected
    unpadded = [text.rstrip("\0") for text in texts]  # numpy pads with zeros and cannot tell them from text
    assert hash_items(np.array(unpadded, str)).tolist() == [hash_item(text) for text in unpadded]


@given(st.binary(max_size=200), st.integers(0, 2**64 - 1))
def test_bytes_are_hashed_with_any_seed(data, seed):
    expected = xxhash.xxh64_intdigest(data, seed)
    assert hash_bytes(data, seed) == hash_bytes(memoryview(data), seed) == expected
    starts, ends = np.array([0, 0, len(data)]), np.array([0, len(data), len(data)])
    assert hash_many(np.frombuffer(data, np.uint8), starts, ends, seed)[1] == expected
    assert hash_many(np.frombuffer(data, np.uint8), starts, ends, np.full(3, seed, np.uint64))[1] == expected


def test_a_text_is_hashed_as_its_utf8():
    for text in TEXTS:
        assert hash_text(text, 7) == xxhash.xxh64_intdigest(text.encode(), 7)
    with pytest.raises(UnicodeEncodeError):
        hash_text("\ud800")


@pytest.mark.parametrize("text", [np.str_("ab"), type("Text", (str,), {})("ab")])
def test_kinds_of_strings_hash_alike(text):
    assert hash_item(text) == hash_item("ab")
    assert hash_item((text, 1)) == hash_item(("ab", 1))
    assert hash_items([text, "x"])[0] == hash_item("ab")


@pytest.mark.parametrize(
    "column",
    [
        TEXTS, tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, object), [text.encode() for text in TEXTS],
        pa.array(TEXTS), pa.array(TEXTS, pa.large_string()), pa.array(TEXTS, pa.string_view()),
        pa.array([text.encode() for text in TEXTS]), pa.chunked_array([TEXTS[:2], [], TEXTS[2:]]),
        pa.array(TEXTS).dictionary_encode(), pa.array(["cut", *TEXTS])[1:],
        pd.Series(TEXTS), pd.Series(TEXTS, dtype="string"), pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.string())),
        pd.Series(TEXTS, dtype="category"), pd.Index(TEXTS), np.array([text.encode() for text in TEXTS]),
    ],
)  # fmt: skip
def test_every_kind_of_text_column_hashes_alike(column):
    assert hash_items(column).tolist() == [hash_item(text) for text in TEXTS]


@pytest.mark.parametrize(
    "column",
    [
        [5, -1, 2**31], np.array([5, -1, 2**31]), pa.array([5, -1, 2**31]), pd.Series([5, -1, 2**31]),
        pd.Series([5, -1, 2**31], dtype="Int64"), np.array([9, 5, -1, 2**31])[1:], np.array([5, -1, 2**31], ">i8"),
        np.array([5, 0, -1, 0, 2**31, 0])[::2],
    ],
)  # fmt: skip
def test_integers_stand_for_themselves(column):
    assert hash_items(column).tolist() == [5, 2**64 - 1, 2**31]


def test_large_integers():
    assert hash_item(2**64 - 1) == 2**64 - 1 == hash_item(-1)
    assert hash_items(np.array([2**64 - 1], np.uint64)).tolist() == [2**64 - 1]
    with pytest.raises(InputError, match="64 bits"):
        hash_item(2**64)


@pytest.mark.parametrize(
    "column",
    [[1.5], np.array([1.5]), [None], [("a", None)], [("a",)], [("a", ("b", "c"))],
         "text", b"bytes", np.zeros((2, 2), int), pa.array([None, "a"]),
     pa.array([1.5]), pd.Series([1, None], dtype="Int64"), ["\ud800"],
     np.array(["ok", "\ud800"]), np.array(["2020-01-01"], "M8[D]")],
)  # fmt: skip
def test_what_cannot_be_an_item_says_so(column):
    with pytest.raises(InputError, match="item"):
        hash_items(column)


def test_row_hashes_are_pairwise_independent_within_sampling_error():
    """Over random seeds, two fixed items meet in a row as often as chance has it: 1/width, within 4 sigma."""
    width, trials = 16, 4000
    items = np.array([1, 2, 3, 2**32, 2**33, 2**63, 12345678901234567], np.uint64)
    meet = np.zeros((len(items), len(items)))
    for seed in range(trials):
        cells = cells_of(items, row_hashes(seed, 1, width))[0]
        meet += cells[:, None] == cells[None, :]
    margin = 4 * np.sqrt(trials / width)
    for i, j in combinations(range(len(items)), 2):
        assert abs(meet[i, j] - trials / width) < margin


def test_rows_disagree_about_who_collides():
    """On average over seeds, two items share both of two rows with probability 1/width^2."""
    shared = []
    for seed in range(200):
        cells = cells_of(np.arange(200, dtype=np.uint64), row_hashes(seed, 2, 10))
        together = (cells[0][:, None] == cells[0]) & (cells[1][:, None] == cells[1])
        shared.append((together.sum() - 200) / (200 * 199))
    assert np.mean(shared) == pytest.approx(0.01, rel=0.2)


NUMBERS = np.arange(20_000, dtype=np.uint64)
PATTERNS = {
    "consecutive": NUMBERS,
    "far from zero": NUMBERS + np.uint64(2**40 + 12_345),
    "negative": ~NUMBERS,
    "pages": NUMBERS * np.uint64(4096),
    "high bits": NUMBERS << np.uint64(44),
    "grid": ((NUMBERS // np.uint64(141)) << np.uint64(32)) | (NUMBERS % np.uint64(141)),
    "dates": NUMBERS // np.uint64(28) * np.uint64(100) + NUMBERS % np.uint64(28) + np.uint64(20_000_101),
    "golden": NUMBERS * np.uint64(0x9E3779B97F4A7C15),
    "floats": (np.arange(20_000) / 10).view(np.uint64),
}


def spreads(items, width, seeds, mixed=True):
    """How unevenly a row's cells are filled, for each seed: 1 on average, with a deviation of sqrt(2/(width - 1)), if
    rows hash like random functions.
    """
    found = []
    for seed in range(seeds):
        columns = row_hashes(seed, 1, width).columns()
        columns[:, 6] = mixed
        rows = RowHashes(columns)
        counts = np.bincount(cells_of(items, rows)[0], minlength=width)
        found.append(((counts - len(items) / width) ** 2).sum() * width / len(items) / (width - 1))
    return np.array(found)


@pytest.mark.parametrize("width", [30, 273])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_rows_spread_patterns_as_random_functions_would(pattern, width):
    """The margins are four standard deviations over 200 seeds. Without mixing every pattern is outside them."""
    seeds, deviation = 200, np.sqrt(2 / (width - 1))
    margin, within = 4 * deviation / np.sqrt(seeds), 4 / np.sqrt(2 * seeds)
    found = spreads(PATTERNS[pattern], width, seeds)
    assert abs(found.mean() - 1) < margin
    assert abs(found.std() / deviation - 1) < within * np.sqrt(1 + 6 / width)
    plain = spreads(PATTERNS[pattern], width, seeds, mixed=False)
    assert abs(plain.mean() - 1) > margin or abs(plain.std() / deviation - 1) > within


@given(st.integers(0, 2**64 - 1))
def test_mixing_can_be_undone(number):
    """It is a bijection: no two items become one."""
    word = int(mix(np.array([number], np.uint64))[0])
    word ^= word >> 31 ^ word >> 62
    word = word * pow(0x94D049BB133111EB, -1, 2**64) % 2**64
    word ^= word >> 27 ^ word >> 54
    word = word * pow(0xBF58476D1CE4E5B9, -1, 2**64) % 2**64
    assert word ^ word >> 30 ^ word >> 60 == number


def test_levels_with_a_cell_for_each_prefix_mix_nothing():
    rows = stack_rows([(direct_row(4), 8), (row_hashes(3, 2, 100), 8), (row_hashes(5, 2, 100), 0)])
    items = np.arange(2**12, dtype=np.uint64)
    cells = cells_of(items, rows)
    assert (cells[0] == items >> np.uint64(8)).all()
    assert (cells[1:3] == 16 + cells_of(items >> np.uint64(8), row_hashes(3, 2, 100))).all()
    assert (cells[3:] == 216 + cells_of(items, row_hashes(5, 2, 100))).all()


def test_an_items_cells_do_not_depend_on_how_many_are_hashed_at_once():
    items = np.random.default_rng(0).integers(0, 2**64, 2 * CHUNK + 5, dtype=np.uint64)
    rows = stack_rows([(row_hashes(1, 2, 50), 7), (row_hashes(2, 3, 60), 0)])
    whole = cells_of(items, rows)
    for begin, end in ((0, 1), (CHUNK - 3, CHUNK + 9), (2 * CHUNK, 2 * CHUNK + 5)):
        assert (cells_of(items[begin:end], rows) == whole[:, begin:end]).all()
