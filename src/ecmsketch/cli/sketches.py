"""Where commands take sketches from: a store, or a file of one sketch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ecmsketch.errors import EcmError, InputError

Source = Annotated[str, typer.Argument(help="A store that `build` wrote, or a file of one sketch.", show_default=False)]


def load_sketch(source: str, site: str | None) -> Any:
    """One sketch: of a file, of one site, or of all sites merged."""
    from ecmsketch.loading import load

    path = Path(source)
    if path.is_file():
        if site is not None:
            raise InputError(f"{source}: this is one sketch, without sites; leave --site out")
        try:
            return load(path.read_bytes())
        except EcmError as error:
            raise type(error)(f"{source}: {error}") from error
    sketches = load_sites(source, site)
    from ecmsketch.merging import merge

    return merge(sketches.values()) if len(sketches) > 1 else next(iter(sketches.values()))


def load_sites(source: str, site: str | None = None) -> dict[str, Any]:
    """The sketches of a store, by site."""
    if "://" not in source and not Path(source).exists():
        raise InputError(f"{source}: there is no such store or file; `ecmsketch build` makes one")
    from ecmsketch.store import SketchStore

    sketches = SketchStore(source).latest(site)
    if not sketches:
        raise InputError(f"{source}: there are no sketches in it")
    return sketches


def item_of(text: str) -> Any:
    """An item as the command line gives it: a number if it looks like one."""
    digits = text.lstrip("-")
    return int(text) if digits.isdigit() else text
