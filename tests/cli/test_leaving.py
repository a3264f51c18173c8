"""A process ends with its own exit code, also while Arrow still reads a Delta table."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ecmsketch as ecm
from ecmsketch.store import SketchRow, SketchStore

ROOT = Path(__file__).parents[2]
READING = """
import atexit, sys
from ecmsketch.cli.leaving import leave_early

with leave_early():
    atexit.register(print, "handled")
    from deltalake import DeltaTable

    batches = DeltaTable(sys.argv[1]).to_pyarrow_dataset().to_batches()
    next(batches)
    print("said", flush=False)
    sys.exit(CODE)
"""


@pytest.fixture(scope="module")
def many_files(tmp_path_factory):
    store = SketchStore(tmp_path_factory.mktemp("leaving") / "store")
    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000))
    sketch.update_many(range(500), range(500))
    for i in range(15):
        store.append([SketchRow(f"site {i}", sketch)])
    return store.path


def python(code, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(Path(ecm.__file__).parents[1])}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)


@pytest.mark.parametrize(("code", "expected"), [("0", 0), ("1", 1), ("None", 0), ("'what was wrong'", 1)])
def test_reads_in_flight_do_not_matter(many_files, code, expected):
    """Without `leave_early` ten of twelve such processes crashed, and two hung."""
    done = python(READING.replace("CODE", code), many_files)
    assert done.returncode == expected, done.stderr
    assert done.stdout == "said\nhandled\n"
    assert done.stderr == ("what was wrong\n" if "wrong" in code else "")


def test_an_unexpected_error_is_still_shown():
    done = python("from ecmsketch.cli.leaving import leave_early\nwith leave_early():\n    1 / 0")
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr


def test_the_command_leaves_that_way():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"]["ecmsketch"] == "ecmsketch.cli:script"
    done = python("import sys; sys.argv[1:] = ['plan', '--events', '-5']\nfrom ecmsketch.cli import script\nscript()")
    assert done.returncode == 2
    assert "--events" in done.stderr
