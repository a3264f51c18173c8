"""Results on disk: a CSV and a manifest for every experiment and stream. Figures and reports use nothing else.

results/<data>/<experiment>.csv
results/<data>/<experiment>.manifest.json
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecmsketch.errors import InputError
from ecmsketch.experiments.manifest import key_of, make_manifest
from ecmsketch.experiments.spec import Context, Experiment, Row
from ecmsketch.whole_files import whole_file


@dataclass(frozen=True)
class StoredResult:
    """One experiment on one stream, read back from disk."""

    manifest: dict[str, Any]
    rows: list[Row]

    @property
    def experiment(self) -> str:
        return str(self.manifest["key"]["experiment"])

    @property
    def data(self) -> str:
        return str(self.manifest["key"]["data"])

    @property
    def label(self) -> str:
        """Whether the data is real or GENERATED."""
        return str(self.manifest["key"]["label"])

    def where(self, **wanted: Any) -> list[Row]:
        """The rows whose columns have these values."""
        return [row for row in self.rows if all(row[name] == value for name, value in wanted.items())]


def write_result(out: Path, spec: Experiment, context: Context, rows: list[Row], seconds: float) -> None:
    """Write the CSV, then the manifest that makes it count: an interrupted run leaves no result."""
    folder = out / context.stream.name
    folder.mkdir(parents=True, exist_ok=True)
    table, manifest = _paths(folder, spec.name)
    manifest.unlink(missing_ok=True)
    with open(table, "w", newline="") as file:
        columns = ("seed", *(name for name in spec.columns if name != "seed"))
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    facts = make_manifest(spec, context, seconds) | {"rows": len(rows), "sha256": _digest(table)}
    with whole_file(manifest) as part:
        part.write_text(json.dumps(facts, indent=2) + "\n")


def is_stored(out: Path, spec: Experiment, context: Context) -> bool:
    """Whether an equal run is stored and its CSV is unchanged."""
    table, manifest = _paths(out / context.stream.name, spec.name)
    try:
        facts = json.loads(manifest.read_text())
        return bool(facts["key"] == key_of(spec, context) and facts["sha256"] == _digest(table))
    except (OSError, ValueError, KeyError):
        return False


def read_result(out: Path, spec: Experiment, context: Context) -> StoredResult:
    """The result of one experiment on one stream, with its values as the text that stands in the CSV."""
    return _read(_paths(out / context.stream.name, spec.name)[1], str)


def remove_result(out: Path, spec: Experiment, context: Context) -> None:
    """Remove one result, and its folders if nothing else is in them."""
    folder = out / context.stream.name
    for path in _paths(folder, spec.name):
        path.unlink(missing_ok=True)
    for empty in (folder, out, out.parent):
        if empty.is_dir() and not any(empty.iterdir()):
            empty.rmdir()


def read_results(out: Path) -> list[StoredResult]:
    """All results in a folder, ordered by data and experiment."""
    found = [_read(path) for path in sorted(out.glob("*/*.manifest.json"))]
    if not found:
        raise InputError(f"out: {out} has no results; run an experiment first")
    return found


def problems_of_files(out: Path) -> list[str]:
    """What is wrong with the files of a folder of results: tables without a manifest, and changed tables."""
    tables = {path: path.with_name(f"{path.stem}.manifest.json") for path in sorted(out.glob("*/*.csv"))}
    alone = [f"{table.parent.name}/{table.name} has no manifest" for table, path in tables.items() if not path.exists()]
    changed = [
        f"{table.parent.name}/{table.name} is not the table that its manifest was written for"
        for table, path in tables.items()
        if path.exists() and json.loads(path.read_text())["sha256"] != _digest(table)
    ]
    return alone + changed


def _read(manifest: Path, convert: Callable[[str], Any] | None = None) -> StoredResult:
    facts = json.loads(manifest.read_text())
    table = manifest.with_name(manifest.name.replace(".manifest.json", ".csv"))
    if not table.exists():
        raise InputError(f"out: {table} is missing although its manifest is there; run the experiment with --again")
    read = convert or _value
    with open(table, newline="") as file:
        return StoredResult(facts, [{name: read(text) for name, text in row.items()} for row in csv.DictReader(file)])


def _value(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _paths(folder: Path, name: str) -> tuple[Path, Path]:
    return folder / f"{name}.csv", folder / f"{name}.manifest.json"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
