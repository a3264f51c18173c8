"""What a newcomer meets first: examples run, imports are light, the docs' numbers are the code's."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from ecmsketch import codec

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.slow] if path.name == "demo.py" else [])  # that is `make demo`
        for path in sorted((ROOT / "examples").glob("*.py"))
    ],
    ids=lambda path: path.name,
)
def test_examples_run(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_importing_brings_neither_spark_nor_arrow_nor_pandas():
    code = (
        "import sys, ecmsketch; print([m for m in ('pyspark', 'pyarrow', 'pandas', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_format_document_has_the_codecs_offsets():
    text = (ROOT / "docs" / "format.md").read_text()
    config, state = codec._ENVELOPE.size, codec._ENVELOPE.size + codec._CONFIG.size
    assert f"| {config} | {codec._CONFIG.size} | config |" in text
    assert f"| {state} | {codec._STATE.size} | state |" in text
    assert f"| {codec._HEADER_SIZE} | | counters" in text
    kinds = {"f64": "d", "i64": "q", "u64": "Q", "u32": "I", "u16": "H", "u8": "B"}
    documented = re.findall(r"^\| (\d+) \| (f64|i64|u64|u32|u16|u8) \|", text, re.M)
    layout, offset = [], config
    for packed in (codec._CONFIG, codec._STATE):
        for letter in packed.format.lstrip("<"):
            layout.append((str(offset), letter))
            offset += {"d": 8, "q": 8, "Q": 8, "I": 4, "H": 2, "B": 1}[letter]
    assert [(at, kinds[kind]) for at, kind in documented] == layout


def test_compiling_for_the_first_time_says_so(tmp_path):
    code = "import numpy as np; from ecmsketch.sorting import is_sorted; is_sorted(np.arange(5))"
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": ""}
    first, again = (
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    assert "compiling kernels" in first.stderr
    assert again.stderr == ""
