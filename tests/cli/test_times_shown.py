"""Ticks that are times are shown as times, held against numpy's."""

from __future__ import annotations

import json

import numpy as np
import pytest
from test_commands import run

import ecmsketch as ecm
from ecmsketch.cli.times import shown, with_times
from ecmsketch.inputs.moments import moment
from ecmsketch.inputs.ticks import UNITS


@pytest.mark.parametrize("unit", UNITS)
def test_times_are_those_of_numpy(unit):
    rng = np.random.default_rng(0)
    for tick in (0, -1, 1, *map(int, rng.integers(-(10**5), 10**5, 50)), *map(int, rng.integers(0, 2**33, 50))):
        exact = np.datetime64(tick, unit)
        if not np.datetime64("0001-01-01") <= exact < np.datetime64("9999-12-31"):
            continue
        found = moment(tick, unit)
        assert np.datetime64(found.removesuffix("Z")) == exact
        assert found.endswith("Z") == (unit != "D")


def test_what_is_no_time():
    assert moment(5, None) is None
    assert moment(None, "s") is None
    assert moment(2**61, "s") is None
    assert moment(-(2**61), "D") is None
    assert (shown(5, None), shown(2**61, "s"), shown(None, "s")) == ("tick 5", f"tick {2**61}", "no tick")
    assert shown(898_000_000, "s") == "1998-06-16T12:26:40Z"


def test_facts():
    facts = {"site": "x", "now": 60, "n": 60}
    assert with_times(facts, ("now",), "s", False) == {"site": "x", "now": "1970-01-01T00:01:00Z", "n": 60}
    assert with_times(facts, ("now",), "s", True) == {**facts, "now_time": "1970-01-01T00:01:00Z"}
    assert with_times(facts, ("now",), None, True) == with_times(facts, ("now",), None, False) == facts


def test_commands_show_times(tmp_path):
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=10**6, unit="ms", heavy_hitters=True)
    sketch = ecm.EcmSketch(config)
    sketch.update("a", 898_000_000_123)
    (tmp_path / "one.ecms").write_bytes(sketch.serialize())
    time = "1998-06-16T12:26:40.123Z"
    for command in (
        ("query", tmp_path / "one.ecms", "a"),
        ("top", tmp_path / "one.ecms"),
        ("inspect", tmp_path / "one.ecms"),
    ):
        assert time in run(*command).stdout
    facts = json.loads(run("inspect", tmp_path / "one.ecms", "--json").stdout)
    assert (facts["now"], facts["now_time"]) == (898_000_000_123, time)
