"""The results that the repository keeps: tables and manifests in docs/results, from which docs/results.md is made."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from ecmsketch.errors import InputError
from ecmsketch.experiments.report.document import write_docs_page
from ecmsketch.experiments.results import problems_of_files

PICTURES = "pictures/results"
KEPT = "results"
"""The folder in docs/ of the run that docs/results.md shows. Its folder small/ has the run of `make reproduce`."""


def keep_results(out: Path, folder: Path) -> list[Path]:
    """Copy the tables and manifests of all results into a folder; those of other experiments or data stay there."""
    problems = problems_of_files(out)
    if problems:
        raise InputError(f"out: {problems[0]}; run the experiment again")
    kept = []
    for manifest in sorted(out.glob("*/*.manifest.json")):
        table = manifest.with_name(manifest.name.replace(".manifest.json", ".csv"))
        target = folder / manifest.parent.name
        target.mkdir(parents=True, exist_ok=True)
        kept += [Path(shutil.copyfile(path, target / path.name)) for path in (table, manifest)]
    return kept


def renew_docs_page(out: Path, docs: Path) -> list[Path]:
    """Write docs/results.md and its pictures, and remove pictures that it no longer shows."""
    for path in (docs / PICTURES).glob("*.*"):
        path.unlink()
    return write_docs_page(out, docs)


def problems_of_docs(docs: Path) -> list[str]:
    """What is wrong with docs/results.md, its figures and the results that it is made from; nothing if they agree."""
    folders = [path for path in (docs / KEPT, docs / KEPT / "small") if path.is_dir()]
    problems = [f"{folder.name}/{problem}" for folder in folders for problem in problems_of_files(folder)]
    with tempfile.TemporaryDirectory(prefix="ecmsketch-") as scratch:
        (page,) = write_docs_page(docs / KEPT, Path(scratch))
        text, wanted = page.read_text(), {path.name for path in (page.parent / PICTURES).glob("*.*")}
    if (docs / "results.md").read_text() != text:
        problems.append("results.md is not what its tables give; run make results")
    there = {path.name for path in (docs / PICTURES).glob("*.*")}
    problems += [f"the figure {name} is missing; run make results" for name in sorted(wanted - there)]
    problems += [f"the figure {name} is of no result; run make results" for name in sorted(there - wanted)]
    return problems
