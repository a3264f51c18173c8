"""ecmsketch merge: the sketches of all sites into one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ecmsketch.cli.options import AsJson
from ecmsketch.cli.output import show_one, working
from ecmsketch.cli.sketches import Source, load_sites


def merge(
    store: Source,
    out: Annotated[str, typer.Option(help="File for the merged sketch.", show_default=False)],
    binary: Annotated[bool, typer.Option("--binary", help="In pairs up a tree, as in the paper: more error.")] = False,
    as_json: AsJson = False,
) -> None:
    """Merge the newest sketches of all sites, and write the one that results.

    Example: ecmsketch merge sketches --out all.ecms
    """
    from ecmsketch import merging

    with working("merging"):
        sites = load_sites(store)
        merged = merging.merge(sites.values(), "binary" if binary else "n-way")
    data = merged.serialize()
    Path(out).write_bytes(data)
    show_one(
        {
            "file": out, "sites": len(sites), "bytes": len(data), "levels": merged.merge_levels,
            "epsilon_promised": merged.config.epsilon, "epsilon_now": merged.epsilon,
        },
        as_json,
    )  # fmt: skip
