"""Compiled modules: what runs is the compiled file, it is as new as its source, and its examples are right."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import ecmsketch

HOUSE = Path(ecmsketch.__file__).parent
SOURCES = sorted(
    path
    for path in HOUSE.rglob("*.py*")
    if path.suffix == ".pyx" or (path.suffix == ".py" and re.search(r"^import cython$", path.read_text(), re.M))
)


def module_of(source: Path):
    return import_module(".".join(("ecmsketch", *source.relative_to(HOUSE).with_suffix("").parts)))


def compiled_file(source: Path) -> Path:
    """What a module was loaded from."""
    return Path(module_of(source).__spec__.origin)


def newest(source: Path) -> float:
    """When a module's source or declarations changed last."""
    declared = source.with_suffix(".pxd")
    return max(path.stat().st_mtime for path in (source, declared) if path.exists())


def test_there_are_compiled_modules():
    names = {str(source.relative_to(HOUSE)) for source in SOURCES}
    assert {"kernels/memory.pyx", "sketch/ingest.py", "engines/slices/stream.py", "engines/cells/engine.py"} <= names


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.relative_to(HOUSE)))
class TestEachModule:
    def test_it_is_loaded_from_a_compiled_file(self, source):
        assert compiled_file(source).name.endswith(tuple(EXTENSION_SUFFIXES))

    def test_it_is_not_older_than_its_source(self, source):
        assert compiled_file(source).stat().st_mtime >= newest(source), "build it again: make build"

    def test_its_examples_are_right(self, source):
        module, tried, failed = module_of(source), set(), 0
        runner = doctest.DocTestRunner()
        for test in doctest.DocTestFinder(exclude_empty=True).find(module):
            tried |= {example.source.strip() for example in test.examples}
            failed += runner.run(test).failed
        assert failed == 0
        assert set(re.findall(r"^ *>>> (.*)$", source.read_text(), re.M)) <= {
            line for e in tried for line in e.split("\n")
        }


def test_declarations_belong_to_compiled_modules():
    """`types.pxd` alone has structs only, which need no module."""
    lonely = {
        path.relative_to(HOUSE)
        for path in HOUSE.rglob("*.pxd")
        if not {path.with_suffix(".py"), path.with_suffix(".pyx")} & set(SOURCES)
    }
    assert {str(path) for path in lonely} <= {"engines/slices/types.pxd"}
