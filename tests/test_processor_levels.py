"""What is compiled ahead is compiled, from the sources that are here, and chosen for the processor."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import ecmsketch as ecm

PACKAGE = Path(ecm.__file__).parent
IS_CHECKOUT = (PACKAGE.parents[1] / "setup.py").is_file()

pytestmark = pytest.mark.skipif("ECMSKETCH_UNCOMPILED" in os.environ, reason="everything runs uncompiled")


def compiled_sources():
    """As setup.py finds them."""
    says_so = re.compile(r"^import cython$", re.MULTILINE)
    plain = [source for source in PACKAGE.rglob("*.py") if says_so.search(source.read_text("utf-8"))]
    yield from sorted([*plain, *PACKAGE.rglob("*.pyx")])


SOURCES = list(compiled_sources())


def module_of(source):
    return import_module(".".join(["ecmsketch", *source.relative_to(PACKAGE).with_suffix("").parts]))


def test_there_are_compiled_modules():
    assert len(SOURCES) > 30
    assert PACKAGE / "kernels" / "hashing.py" in SOURCES


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.relative_to(PACKAGE)))
def test_every_module_runs_compiled(source):
    """A wheel was once tested uncompiled by others, without anyone noticing."""
    module = module_of(source)
    assert Path(module.__file__).suffix in (".so", ".pyd"), f"{module.__file__}: run make build"


@pytest.mark.skipif(not IS_CHECKOUT, reason="an installed package has one date")
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.relative_to(PACKAGE)))
def test_no_module_is_older_than_its_source(source):
    built = Path(module_of(source).__file__).stat().st_mtime
    for part in (source, source.with_suffix(".pxd")):
        if part.exists():
            assert part.stat().st_mtime <= built, f"{part} is newer than its module: run make build"


def run(code, level):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={**os.environ, "ECMSKETCH_CPU": level, "PYTHONPATH": str(PACKAGE.parent)},
    )  # fmt: skip


WHICH = """
from ecmsketch.kernels import hashing, processor
from ecmsketch.engines.slices import tables
print(processor.chosen_level(), hashing.__file__, tables.__file__)
"""
COUNTING = """
import hashlib
import numpy as np
from ecmsketch import EcmSketch, SketchConfig
rng, digest = np.random.default_rng(7), hashlib.sha256()
for epsilon in (0.1, 0.01):
    for counter in ("slices", "eh", "dw", "rw"):
        sketch = EcmSketch(SketchConfig(epsilon=epsilon, delta=0.1, window=20_000, counter=counter), site="x")
        for begin in range(0, 60_000, 20_000):
            weights = rng.integers(1, 9, 20_000) if begin else None
            sketch.update_many(rng.zipf(1.2, 20_000), begin + np.arange(20_000), weights)
        digest.update(sketch.serialize())
        digest.update(repr(sketch.estimate_many(np.arange(100), last=5000)).encode())
print(digest.hexdigest())
"""


def levels():
    from ecmsketch.kernels.processor import best_level

    best = best_level()
    found = ["v2", "v3", "v4"][: int(best[1:]) - 1] if best else []
    folders = {level for level in found if level == "v2" or (PACKAGE / "kernels" / level).is_dir()}
    return [level for level in found if level in folders]


def test_the_level_of_the_processor_is_chosen():
    for level in levels():
        said = run(WHICH, level)
        assert said.returncode == 0, said.stderr
        chosen, *files = said.stdout.split()
        assert chosen == level
        for file in files:
            assert (Path(file).parent.name == level) == (level != "v2")


@pytest.mark.skipif(not levels(), reason="this processor has one build")
def test_a_level_that_is_unknown_is_refused():
    said = run(WHICH, "v9")
    assert said.returncode != 0
    assert "ECMSKETCH_CPU: expected v2, v3 or v4" in said.stderr


def test_every_level_counts_and_answers_alike():
    said = [run(COUNTING, level) for level in levels()]
    assert all(one.returncode == 0 for one in said), said[0].stderr
    assert len({one.stdout for one in said}) <= 1
