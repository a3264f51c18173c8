"""The demo's two statements about sharp answers, on its own log, without Spark."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.sketch import unite

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"
BYTES_BEFORE = 13_600_000
"""What the demo's sketches took with epsilon 0.01 and no resolution, when bounds of busy pages spanned half of them."""


@pytest.fixture(scope="module")
def demo():
    return runpy.run_path(str(DEMO))


@pytest.fixture(scope="module")
def sketches(demo):
    """One sketch for each server, united from the pieces of two tasks that read three and five of the log's files."""
    log, found = demo["LOG"], {}
    for files in (range(3), range(3, log.slices)):
        requests = np.concatenate([log.slice(index) for index in files])
        for server in np.unique(requests["server"]):
            part = requests[requests["server"] == server]
            piece = ecm.EcmSketch(demo["CONFIG"], site=f"{server}/{files.start}")
            piece.update_many(part["object"].astype(np.int64), part["timestamp"].astype(np.int64))
            found.setdefault(server, []).append(piece)
    return [unite(pieces) for pieces in found.values()]


@pytest.fixture(scope="module")
def truth(demo):
    found = {}
    for index in range(demo["LOG"].slices):
        requests = demo["LOG"].slice(index)
        pairs = requests["object"].astype(np.int64) << 32 | requests["timestamp"].astype(np.int64)
        for pair, count in zip(*(part.tolist() for part in np.unique(pairs, return_counts=True)), strict=True):
            found[pair] = found.get(pair, 0) + count
    return demo["Truth"]([(pair >> 32, pair & 0xFFFF_FFFF, count) for pair, count in found.items()])


def test_the_demo_is_sharper_than_it_was_in_less_memory(demo, sketches, truth, capsys):
    assert len(sketches) == 33
    assert sum(len(sketch.serialize()) for sketch in sketches) <= BYTES_BEFORE
    merged = ecm.merge(sketches)
    assert demo["busiest_pages"](merged, truth) <= 0.25
    assert demo["self_joins"](merged, truth) <= 0.03
    assert "OUTSIDE" not in capsys.readouterr().out
