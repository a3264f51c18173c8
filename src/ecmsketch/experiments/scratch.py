"""Files of an experiment that nobody needs when it is done."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ecmsketch.experiments.sites import deal
from ecmsketch.experiments.spec import Context


@contextmanager
def site_files(context: Context, sites: int | None = None) -> Iterator[list[Path]]:
    """A file for every site of the stream, or for `sites` sites among which it is divided evenly."""
    folder = context.scratch / f"{context.stream.name}-{sites or 'sites'}"
    shutil.rmtree(folder, ignore_errors=True)
    context.say(f"dealing out {context.stream.events:,} events to {sites or context.stream.sites} sites")
    try:
        yield deal(context.stream, folder, sites, context.seed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
