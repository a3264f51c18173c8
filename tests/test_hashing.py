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
from ecmsketch.inputs.row_hashes import cells_of, row_hashes

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
