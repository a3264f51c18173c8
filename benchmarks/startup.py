"""How long until the first answer: importing, and compiling for the first time ever."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from benchmarks.table import Row, show

EVERYTHING = """
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
    """All of it."""
    with tempfile.TemporaryDirectory() as cache:
        first, notice = _seconds(EVERYTHING, cache)
        again, _ = _seconds(EVERYTHING, cache)
        imports = min(_seconds("import ecmsketch", cache)[0] for _ in range(3))
    bare = min(_seconds("pass", "")[0] for _ in range(3))
    show(
        "Starting",
        [
            Row("import ecmsketch, kernels cached", f"{imports - bare:.2f} s", "under 1 s", imports - bare < 1),
            Row("every kernel compiled, first time ever", f"{first:.1f} s", "under 30 s", first < 30),
            Row("the same, kernels cached", f"{again:.1f} s"),
            Row("said on stderr meanwhile", notice.strip() or "nothing", "a line", bool(notice.strip())),
        ],
    )


def _seconds(code: str, cache: str) -> tuple[float, str]:
    environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)  # noqa: S603
    return time.perf_counter() - begin, done.stderr
