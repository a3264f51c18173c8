"""ecmsketch quantile: show percentiles of numbers."""

from __future__ import annotations

from typing import Annotated

import typer

from ecmsketch.cli.lengths import to_ticks
from ecmsketch.cli.options import AsJson, Last, Site
from ecmsketch.cli.output import show
from ecmsketch.cli.sketches import Source, load_sketch
from ecmsketch.errors import InputError


def quantile(
    source: Source,
    shares: Annotated[list[float], typer.Argument(help="Shares from 0 to 1: 0.5 0.95 0.99.", show_default=False)],
    last: Last = None,
    site: Site = None,
    as_json: AsJson = False,
) -> None:
    """Show percentiles: the numbers that given shares of the arrivals do not exceed.

    This needs sketches built with --bits.

    Example: ecmsketch quantile sketches 0.5 0.99 --last 1h
    """
    sketch = load_sketch(source, site)
    if not hasattr(sketch, "quantiles"):
        raise InputError(f"{source}: these are EcmSketches, without an order of items; build them with --bits")
    ticks = to_ticks(last, sketch.config.unit, "--last")
    found = sketch.quantiles(shares, last=ticks)
    show([{"share": share, **answer._asdict()} for share, answer in zip(shares, found, strict=True)], as_json)
