"""Options that several commands share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ecmsketch.config import SketchConfig

_LENGTH = re.compile(r"(\d+)\s*(ns|us|ms|s|m|h|d|D|w)?")
_SECONDS = {
    "ns": 10**-9,
    "us": 10**-6,
    "ms": 10**-3,
    "s": 1,
    "m": 60,
    "h": 3600,
    "d": 86_400,
    "D": 86_400,
    "w": 604_800,
}

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Last = Annotated[
    str | None, typer.Option(help="Only the newest so much: 300 (ticks), 5m, 1h, 7d. Default: the window.")
]
Follow = Annotated[bool, typer.Option("--follow", help="Ask again every --seconds, until interrupted.")]
Seconds = Annotated[float, typer.Option(help="Between questions, with --follow.", min=0.1)]
Site = Annotated[str | None, typer.Option(help="One site only. Default: all, merged.")]
SiteColumn = Annotated[str | None, typer.Option("--site", help="Column of the place. Default: one place.")]
WeightColumn = Annotated[str | None, typer.Option("--weight", help="Column of what a row counts. Default: 1.")]
Master = Annotated[str | None, typer.Option(help="Spark master. Default: this machine, all cores.")]
Epsilon = Annotated[float, typer.Option(help="How wrong a count may be, as a share of all arrivals in the range.")]
Delta = Annotated[float, typer.Option(help="How likely it may be more wrong than that.")]
Window = Annotated[str, typer.Option(help="How far back can be asked: 86400 (ticks), 1h, 1d, 30d.")]
Unit = Annotated[str, typer.Option(help="What a tick is: ns, us, ms, s, m, h, D; or none.")]
Counter = Annotated[str, typer.Option(help="eh (default), dw or rw.")]
MergeDepth = Annotated[int, typer.Option(help="Levels of merging that epsilon must survive.")]
HeavyHitters = Annotated[bool, typer.Option("--heavy-hitters", help="Keep names of frequent items, for `top`.")]


def to_ticks(text: str | None, unit: str | None, name: str) -> int | None:
    """A length such as 300, 5m or 1h in ticks."""
    if text is None:
        return None
    found = _LENGTH.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(f"expected a length such as 300, 5m, 1h or 7d, got {text!r}", param_hint=name)
    number, suffix = int(found[1]), found[2]
    if suffix is None:
        return number
    if unit is None:
        raise typer.BadParameter(f"{text!r} needs sketches with a unit; give a number of ticks", param_hint=name)
    ticks = number * _SECONDS[suffix] / _SECONDS[unit]
    if ticks != int(ticks):
        raise typer.BadParameter(f"{text!r} is not a whole number of ticks of {unit}", param_hint=name)
    return int(ticks)


def make_config(**given: Any) -> SketchConfig:
    """A config from options; `window` may be a length, and `unit` "none"."""
    from ecmsketch.config import SketchConfig

    unit = None if given["unit"] == "none" else given["unit"]
    window = to_ticks(given["window"], unit, "--window")
    return SketchConfig(**{**given, "unit": unit, "window": window})
