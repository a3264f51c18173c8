"""Compiled modules and the same sources run uncompiled make the same of small inputs. (Larger ones, uncompiled:
`ECMSKETCH_UNCOMPILED=1 pytest tests/engines`.)
"""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import numpy as np
import pytest

from uncompiled import small_runs

TESTS = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif("ECMSKETCH_UNCOMPILED" in os.environ, reason="nothing runs compiled here")


def assert_same(one, other, where):
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key, value in one.items():
            assert_same(value, other[key], (*where, key))
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other), where
        for place, value in enumerate(one):
            assert_same(value, other[place], (*where, place))
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other, str(where))
    else:
        assert one == other, where


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = tmp_path_factory.mktemp("uncompiled") / "found"
    command = [sys.executable, "-m", "uncompiled.small_runs", str(path)]
    run = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return pickle.loads(path.read_bytes())


@pytest.mark.parametrize("run", small_runs.RUNS, ids=lambda run: run.__name__)
def test_the_same_comes_out_uncompiled(run, found):
    assert_same(run(), found[run.__name__], (run.__name__,))
    assert found[run.__name__, "pieces of memory left"] == 0


def test_all_else_runs_compiled():
    """No module that is compiled is there only as its source, which would be slow and go unnoticed."""
    sources = TESTS.parent / "src"
    names = [
        ".".join(path.relative_to(sources).with_suffix("").parts)
        for path in sorted(sources.rglob("*.py"))
        if "\nimport cython\n" in path.read_text("utf-8")
    ]
    assert len(names) > 20
    files = {name: importlib.import_module(name).__file__ or "" for name in names}
    assert [name for name, file in files.items() if not file.endswith(tuple(EXTENSION_SUFFIXES))] == []


def test_the_other_side_ran_the_source(found):
    assert found["file"].endswith("kernels/hashing.py")
