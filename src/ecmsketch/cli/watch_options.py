"""What `ecmsketch monitor` watches: a function of all streams, a threshold and a range, read from options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ecmsketch.cli.lengths import to_ticks
from ecmsketch.cli.live import Lateness
from ecmsketch.cli.options import Counter, Delta, Epsilon, Resolution, Unit, make_config
from ecmsketch.inputs.item_text import parse_item

if TYPE_CHECKING:
    from ecmsketch.config import SketchConfig
    from ecmsketch.inputs.kinds import Kinds
    from ecmsketch.monitor import Function, Threshold, Watch


@dataclass(frozen=True)
class WatchOptions:
    """Options that say what to watch, and how exactly."""

    function: Annotated[
        str,
        typer.Option(
            help="total, self-join, frequency:ITEM, share:ITEM:PHI (0 where the item has that share) or inner:A,B; "
            "any-item with --above, or any-share:PHI, for whichever item it may be.",
            show_default=False,
        ),
    ]
    last: Annotated[str, typer.Option(help="Watch this much time before now: 300 (ticks), 5m, 1h.", show_default=False)]
    above: Annotated[float | None, typer.Option(help="Alert when the value crosses this, up or down.")] = None
    between: Annotated[
        tuple[float, float] | None, typer.Option(help="Alert when the value crosses either of two numbers.")
    ] = None
    within: Annotated[float | None, typer.Option(help="Instead: keep a value that is off by at most this.")] = None
    no_miss: Annotated[
        bool,
        typer.Option(
            "--no-miss",
            help="Lower --above so that the true value never crosses it unnoticed; joins count collisions too then.",
        ),
    ] = False
    epsilon: Epsilon = 0.1
    delta: Delta = 0.1
    unit: Unit = "s"
    counter: Counter = "eh"
    resolution: Resolution = None
    lateness: Lateness = "10s"

    def config(self) -> SketchConfig:
        """The config of the sketches of the sites."""
        config = make_config(
            epsilon=self.epsilon, delta=self.delta, window=self.last, unit=self.unit, counter=self.counter,
            resolution=self.resolution, late="side", window_option="--last",
        )  # fmt: skip
        named = self.function.startswith("any-")
        return config.replace(lateness=to_ticks(self.lateness, config.unit, "--lateness"), heavy_hitters=named)

    def watch(self, kinds: Kinds) -> Watch:
        """What to watch, in streams whose items are of these kinds."""
        from ecmsketch.monitor import Watch

        config = self.config()
        any_function = self._any_function()
        if any_function is not None:
            watch = Watch(any_function, last=config.window, sketch=config, balance="eager")
            return watch.no_miss() if self.no_miss else watch
        watch = Watch(read_function(self.function, kinds), self._threshold(), config.window, config, balance="eager")
        return watch.no_miss() if self.no_miss else watch

    def _any_function(self) -> Function | None:
        """AnyItem or AnyShare, if one of them is asked for: they have a threshold of their own."""
        from ecmsketch.monitor import AnyItem, AnyShare

        kind, _, share = self.function.partition(":")
        if kind not in ("any-item", "any-share"):
            return None
        given = [name for name in ("above", "between", "within") if getattr(self, name) is not None]
        if self.function == "any-item" and given == ["above"]:
            return AnyItem(self.above or 0.0)
        try:
            if kind == "any-share" and not given:
                return AnyShare(float(share))
        except ValueError:
            pass
        raise typer.BadParameter(
            f"expected any-item with --above COUNT, or any-share:PHI without a threshold, got {self.function!r}",
            param_hint="--function",
        )

    def _threshold(self) -> Threshold:
        from ecmsketch.monitor import Above, Between, Tracking

        if [self.above, self.between, self.within].count(None) != 2:
            raise typer.BadParameter("give exactly one of --above, --between and --within")
        if self.above is not None:
            return Above(self.above)
        return Between(*self.between) if self.between is not None else Tracking(self.within or 0.0)


def read_function(text: str, kinds: Kinds) -> Function:
    """The function that a text such as frequency:28487 names."""
    from ecmsketch.monitor import Frequency, HeavyHitterShare, InnerProduct, SelfJoin, Total

    kind, _, rest = text.partition(":")
    if text == "total":
        return Total()
    if text == "self-join":
        return SelfJoin()
    if kind == "frequency" and rest:
        return Frequency(parse_item(rest, kinds)[0])
    if kind == "inner" and rest.count(",") == 1:
        one, _, other = rest.partition(",")
        return InnerProduct(one, other)
    if kind == "share" and ":" in rest:
        named, _, phi = rest.rpartition(":")
        try:
            return HeavyHitterShare(parse_item(named, kinds)[0], float(phi))
        except ValueError:
            pass
    raise typer.BadParameter(
        "expected total, self-join, frequency:ITEM, share:ITEM:PHI, inner:A,B, any-item or any-share:PHI, "
        f"got {text!r}",
        param_hint="--function",
    )
