"""How long the first answer takes: importing every public name, and compiling every kernel for the first time."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from benchmarks.table import Row, show

EVERY_NAME = """
import ecmsketch
for name in ecmsketch.__all__:
    getattr(ecmsketch, name)
"""
"""`import ecmsketch` alone imports nothing: the package loads a name when it is first used."""
EVERY_KERNEL = """
import numpy as np, pyarrow as pa, ecmsketch as ecm
for counter in ("eh", "dw", "rw"):
    for window in (1000, 2**40):
        config = ecm.SketchConfig(epsilon=0.3, delta=0.3, window=window, late="side", lateness=5, counter=counter)
        a, b = ecm.EcmSketch(config, site="a"), ecm.EcmSketch(config, site="b")
        a.update_many(pa.array(["x", "y"]), [1, 2])
        a.update_many(np.array(["x", "y"]), [3, 4], [5, 6])
        a.update_many(["x", "y"], [1, 9])
        a.update_many(np.array([1]), [20])
        b.update_many(["x", "y"], [20, 30])
        for sketch in (ecm.merge([a, b]), ecm.concat([a, b])):
            sketch.estimate("x", last=10)
            ecm.EcmSketch.deserialize(sketch.serialize())
    prefix = ecm.PrefixSketch(config, bits=32)
    prefix.update_many([1, 2], [3, 4])
    prefix.quantile(0.5)
"""


def run() -> None:
    """Time the imports, the first compilation and a start with cached kernels."""
    with tempfile.TemporaryDirectory() as cache:
        first, notice = _seconds(EVERY_KERNEL, cache)
        again, _ = _seconds(EVERY_KERNEL, cache)
        ours, numba, bare = (
            min(_seconds(code, cache)[0] for _ in range(3)) for code in (EVERY_NAME, "import numba", "pass")
        )
    show(
        "Starting",
        [
            Row("import every public name", f"{ours - bare:.2f} s", "under 1 s", ours - bare < 1),
            Row("of that, numba and numpy", f"{numba - bare:.2f} s"),
            Row("compile every kernel, first time ever", f"{first:.1f} s", "under 30 s", first < 30),
            Row("the same with cached kernels", f"{again:.1f} s"),
            Row("printed on stderr meanwhile", notice.strip() or "nothing", "a line", bool(notice.strip())),
        ],
    )


def _seconds(code: str, cache: str) -> tuple[float, str]:
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)  # noqa: S603
    return time.perf_counter() - begin, done.stderr
