"""ecmsketch merge: merge the sketches of all sites into one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ecmsketch.cli.options import AsJson
from ecmsketch.cli.output import show_one, working
from ecmsketch.cli.sketches import Source, load_sites
from ecmsketch.errors import InputError
from ecmsketch.whole_files import whole_file


def merge(
    store: Source,
    out: Annotated[str, typer.Option(help="File for the merged sketch.", show_default=False)],
    binary: Annotated[
        bool, typer.Option("--binary", help="Merge in pairs up a tree, as in the paper. This adds more error.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Merge the newest sketches of all sites and write the result to a file.

    Example: ecmsketch merge sketches --out all.ecms
    """
    from ecmsketch.sketch import merging

    _check(Path(out))
    with working("merging"):
        sites = load_sites(store)
        merged = merging.merge(sites.values(), "binary" if binary else "n-way")
    data = merged.serialize()
    _write(Path(out), data)
    show_one(
        {
            "file": out, "sites": len(sites), "bytes": len(data), "levels": merged.merge_levels,
            "epsilon_promised": merged.config.epsilon, "epsilon_now": merged.epsilon,
        },
        as_json,
    )  # fmt: skip


def _check(out: Path) -> None:
    """Raise an error, before anything is merged, if the file cannot be written."""
    try:
        if out.is_dir():
            raise InputError(f"--out: expected a file, got the folder {out}; give a name inside it")
        if not out.parent.is_dir():
            raise InputError(f"--out: there is no folder {out.parent}; make it first")
    except (OSError, ValueError) as error:
        raise _unusable(out, error) from error


def _write(out: Path, data: bytes) -> None:
    """Write under another name first, so that nobody reads half a file."""
    try:
        with whole_file(out) as part:
            part.write_bytes(data)
    except OSError as error:
        raise _unusable(out, error) from error


def _unusable(out: Path, error: Exception) -> InputError:
    return InputError(f"--out: {out} cannot be written: {getattr(error, 'strerror', None) or error}; give another file")
