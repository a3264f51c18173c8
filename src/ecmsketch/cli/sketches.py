"""Where commands get sketches from: a store, or a file of one sketch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ecmsketch.cli.output import say
from ecmsketch.errors import EcmError, EmptyStoreError, InputError

Source = Annotated[
    str, typer.Argument(help="A store that `build` or `stream` wrote, or a file of one sketch.", show_default=False)
]


class NothingYetError(InputError):
    """A store does not exist or is empty; a stream may be about to write it."""


def load_sketch(source: str, site: str | None) -> Any:
    """Load one sketch: from a file, of one site, or of all sites merged."""
    from ecmsketch.sketch.loading import load

    if is_file(source):
        if site is not None:
            raise InputError(f"{source}: this file holds one sketch and no sites; leave --site out")
        try:
            return load(Path(source).read_bytes(), max_nbytes=None)
        except EcmError as error:
            raise type(error)(f"{source}: {error}") from error
        except OSError as error:
            raise InputError(f"{source}: cannot be read: {error.strerror}") from error
    store = _open(source)
    if site is not None:
        return store.latest(site)[site]
    try:
        return store.everywhere(say=say)
    except EmptyStoreError as error:
        raise NothingYetError(f"{source}: this store holds no sketches") from error


def load_sites(source: str) -> dict[str, Any]:
    """Load the sketches of a store, by site."""
    return dict(each_site(source))


def each_site(source: str) -> Iterator[tuple[str, Any]]:
    """Yields the sites of a store in order, with their sketches; only some sketches are in memory at a time."""
    empty = True
    for found in _open(source).latest_each():
        empty = False
        yield found
    if empty:
        raise NothingYetError(f"{source}: this store holds no sketches")


def _open(source: str) -> Any:
    if "://" not in source and not _exists(source):
        raise NothingYetError(f"{source}: there is no such store or file; `ecmsketch build` or `stream` makes one")
    from ecmsketch.store import SketchStore

    return SketchStore(source)


def check_store(store: str) -> None:
    """Raise an error, before any work is done, if a file stands where the store should be."""
    if is_file(store):
        raise InputError(f"--store: expected a folder, got the file {store}; give another path")


def is_file(source: str) -> bool:
    """Whether a source is a file, which then holds one sketch."""
    try:
        return Path(source).is_file()
    except (OSError, ValueError):  # the name is too long, has a zero byte, or its folder may not be read
        return False


def _exists(source: str) -> bool:
    try:
        return Path(source).exists()
    except (OSError, ValueError):
        return False
