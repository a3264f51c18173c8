"""Small streams, and the results of all experiments on one of them, run in this process."""

from __future__ import annotations

import numpy as np
import pytest
from small_runs import EVENTS, SMALL, small

from ecmsketch.experiments.data.event_stream import stream_of_arrays
from ecmsketch.experiments.data.named_streams import open_event_stream
from ecmsketch.experiments.runner import run_all
from streams import zipf_items


@pytest.fixture(scope="session")
def stream():
    return open_event_stream("worldcup98-generated", EVENTS)


@pytest.fixture(scope="session")
def tiny():
    """Five sites, some thousand events."""
    rng = np.random.default_rng(0)
    items, ticks = zipf_items(6000, 50, rng).astype(np.uint64), np.sort(rng.integers(0, 5000, 6000))
    return stream_of_arrays("tiny", True, "made for a test", items, ticks, rng.integers(0, 5, 6000))


@pytest.fixture(scope="session")
def out(tmp_path_factory, stream):
    folder = tmp_path_factory.mktemp("results")
    done = run_all([small(name) for name in SMALL], [stream], folder)
    assert {part.state for part in done} == {"run"}
    return folder
