"""Runs the code cells of a notebook in one namespace, as a kernel would, without Jupyter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt

EXAMPLES = Path(__file__).parents[1] / "examples"


def read_cells(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text())["cells"]


def run_notebook(name: str) -> dict[str, Any]:
    """Run a notebook of `examples/`. Returns its variables, and the number of its pictures as `pictures`."""
    matplotlib.use("Agg")
    plt.close("all")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(read_cells(EXAMPLES / name)):
        if cell["cell_type"] == "code":
            code = compile("".join(cell["source"]), f"{name}, cell {number}", "exec")
            exec(code, namespace)
    for figure in map(plt.figure, plt.get_fignums()):
        figure.canvas.draw()
    pictures = len(plt.get_fignums())
    plt.close("all")
    return {**namespace, "pictures": pictures}
