"""The results that the repository keeps: tables and manifests in docs/results, from which docs/results.md is made."""

from __future__ import annotations

import shutil
from pathlib import Path

from ecmsketch.errors import InputError
from ecmsketch.experiments.report.document import DOCS_PICTURES, docs_text, figure_names
from ecmsketch.experiments.results import problems_of_files, read_results

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


def problems_of_docs(docs: Path) -> list[str]:
    """What is wrong with docs/results.md, its figures and the results that it is made from; nothing if they agree."""
    folders = [path for path in (docs / KEPT, docs / KEPT / "small") if path.is_dir()]
    problems = [f"{folder.name}/{problem}" for folder in folders for problem in problems_of_files(folder)]
    results = read_results(docs / KEPT)
    if (docs / "results.md").read_text() != docs_text(results):
        problems.append("results.md is not what its tables give; run make results")
    wanted, there = figure_names(results), {path.name for path in (docs / DOCS_PICTURES).glob("*.*")}
    problems += [f"the figure {name} is missing; run make results" for name in sorted(wanted - there)]
    problems += [f"the figure {name} is of no result; run make results" for name in sorted(there - wanted)]
    return problems
