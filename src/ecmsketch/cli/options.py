"""Options that several commands share."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ecmsketch.cli.lengths import to_ticks, to_unit

if TYPE_CHECKING:
    from ecmsketch.config import SketchConfig


def a_number(value: Any) -> Any:
    """Check that the value of an option is not NaN, which `min` and `max` let pass."""
    if isinstance(value, float) and isnan(value):
        raise typer.BadParameter(f"expected a number, got {value}")
    return value


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Last = Annotated[
    str | None, typer.Option(help="Ask about this much time before now: 300 (ticks), 5m, 1h, 7d. Default: the window.")
]
Site = Annotated[str | None, typer.Option(help="Ask about one site. Default: all sites, merged.")]
Store = Annotated[str, typer.Option(help="Folder or URL of the Delta table for the sketches.", show_default=False)]
SiteColumn = Annotated[str | None, typer.Option("--site", help="Column of the site. Default: there is one site.")]
WeightColumn = Annotated[str | None, typer.Option("--weight", help="Column of the weight. Default: each row counts 1.")]
Master = Annotated[str | None, typer.Option(help="Spark master. Default: this machine, with all its cores.")]
Epsilon = Annotated[float, typer.Option(help="Allowed error of a count, as a share of all arrivals in the range.")]
Delta = Annotated[float, typer.Option(help="Allowed probability that the error is larger than that.")]
Window = Annotated[str, typer.Option(help="How far back you can ask: 86400 (ticks), 1h, 1d, 30d.")]
Unit = Annotated[str, typer.Option(help="Unit of a tick: ns, us, ms, s, m, h or D; none if ticks are not times.")]
Ahead = Annotated[
    str, typer.Option(help="Reject ticks that are further ahead of the clocks than this: 10m, 1d; none for no limit.")
]
Counter = Annotated[
    str,
    typer.Option(
        help="eh (exponential histograms), dw (deterministic waves), rw (randomized waves) or slices (of time)."
    ),
]
Resolution = Annotated[
    float | None,
    typer.Option(
        help="How sharply the start of a range is honoured, such as 0.05: an error beside epsilon, so that small "
        "epsilons become cheap. Default: epsilon is all that is allowed.",
        show_default=False,
    ),
]
HeavyHitters = Annotated[bool, typer.Option("--heavy-hitters", help="Keep the names of frequent items, for `top`.")]


@dataclass(frozen=True)
class SketchOptions:
    """Options that decide what sketches promise and what they cost."""

    epsilon: Epsilon = 0.01
    delta: Delta = 0.01
    window: Window = "1d"
    unit: Unit = "s"
    counter: Counter = "slices"
    resolution: Resolution = None
    merge_depth: Annotated[
        int, typer.Option(help="Levels of merging after which epsilon must still hold.", min=0, max=64)
    ] = 1

    def config(self, **more: Any) -> SketchConfig:
        """The config that these options describe, with `more` of its fields set."""
        return make_config(**asdict(self), **more)


def make_config(*, window_option: str = "--window", **given: Any) -> SketchConfig:
    """A config from options: `window` is a length such as 1d, which was given as `window_option`."""
    from ecmsketch.config import SketchConfig

    unit = to_unit(given["unit"])
    window = to_ticks(given["window"], unit, window_option)
    return SketchConfig(**{**given, "unit": unit, "window": window})
