"""How long the first answer takes: importing every public name, and doing a little of everything in a new process."""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks.table import Row, show

EVERY_NAME = """
import ecmsketch
for name in ecmsketch.__all__:
    getattr(ecmsketch, name)
"""
"""`import ecmsketch` alone imports nothing: the package loads a name when it is first used."""
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
    """Time new processes."""
    names, everything, arrays, bare = (
        min(_seconds(code)[0] for _ in range(3)) for code in (EVERY_NAME, EVERYTHING, "import numpy", "pass")
    )
    notice = _seconds(EVERYTHING)[1]
    show(
        "Starting",
        [
            Row("import every public name", f"{names - bare:.2f} s", "under 1 s", names - bare < 1),
            Row("of that, numpy", f"{arrays - bare:.2f} s"),
            Row(
                "a little of everything, and pyarrow", f"{everything - bare:.2f} s", "under 2 s", everything - bare < 2
            ),
            Row("printed on stderr meanwhile", notice.strip() or "nothing", "nothing", not notice.strip()),
        ],
    )


def _seconds(code: str) -> tuple[float, str]:
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    return time.perf_counter() - begin, done.stderr
