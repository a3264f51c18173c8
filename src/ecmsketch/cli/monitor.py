"""ecmsketch monitor: a threshold over all sites, watched without shipping the streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ecmsketch.cli.live import Every, Folder, Items, Lateness, NewFiles, Rate, Speed, Tick, live
from ecmsketch.cli.options import AsJson, Delta, Epsilon, Master, SiteColumn, Unit, WeightColumn, make_config, to_ticks
from ecmsketch.cli.output import changing, say, show_one
from ecmsketch.cli.sketches import item_of

if TYPE_CHECKING:
    from ecmsketch.monitor import Alert, Function, Threshold
    from ecmsketch.spark import Status

_EVENT_BYTES = 16
"""Of a shipped event: an item's hash and a tick."""


def monitor(
    function: Annotated[
        str,
        typer.Option(
            help="total, self-join, frequency:ITEM, share:ITEM:PHI (0 where the item has that share) or inner:A,B.",
            show_default=False,
        ),
    ],
    folder: Annotated[str, typer.Option(help="Of this monitor alone: its state and messages.", show_default=False)],
    last: Annotated[str, typer.Option(help="Over the newest so much: 300 (ticks), 5m, 1h.", show_default=False)],
    path: Folder = None,
    above: Annotated[float | None, typer.Option(help="Say when the value passes this, up or down.")] = None,
    between: Annotated[
        tuple[float, float] | None, typer.Option(help="Say when the value passes either of two.")
    ] = None,
    within: Annotated[float | None, typer.Option(help="Know the value within this much, instead.")] = None,
    item: Items = None,
    tick: Tick = None,
    site: SiteColumn = None,
    weight: WeightColumn = None,
    stream: Annotated[str | None, typer.Option(help="Column that says which stream, for inner:A,B.")] = None,
    alerts: Annotated[str | None, typer.Option(help="Also write alerts into this Delta table.")] = None,
    no_miss: Annotated[
        bool, typer.Option("--no-miss", help="Lower --above so that the true value never passes unnoticed.")
    ] = False,
    epsilon: Epsilon = 0.1,
    delta: Delta = 0.1,
    unit: Unit = "s",
    lateness: Lateness = "10s",
    speed: Speed = 1.0,
    rate: Rate = None,
    watch: NewFiles = False,
    every: Every = 2.0,
    name: Annotated[str, typer.Option(help="Of the monitor, in the table of alerts.")] = "monitor",
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Watch a threshold over all sites of a stream; sites speak only when their part of it may matter.

    Example: ecmsketch monitor log --function frequency:28487 --above 5000 --last 5m --item object --tick timestamp
    --site server --speed 600 --folder watching --alerts alerts
    """
    source = live(path, item, tick, site, speed, rate, watch)
    if source.site is None:
        raise typer.BadParameter("which column is the site?", param_hint="--site")
    config = make_config(epsilon=epsilon, delta=delta, window=last, unit=unit, late="side")
    config = config.replace(lateness=to_ticks(lateness, config.unit, "--lateness"))
    from ecmsketch.monitor import Watch

    watched = Watch(
        _function(function), _threshold(above, between, within), config.window, config, balance="eager"
    )  # fmt: skip
    watched = watched.no_miss() if no_miss else watched
    from ecmsketch.cli.session import run_until_interrupted, spark_session

    newest: list[Status] = []

    with spark_session(master) as spark, changing(as_json) as change:
        from ecmsketch import spark as ecm_spark

        def on_status(status: Status) -> None:
            newest[:] = [status]
            change(_facts(status))

        writer = ecm_spark.monitor_sites(
            source.events(spark), watched, source.item, source.tick, source.site, weight, stream=stream,
            folder=folder, name=name, alerts=alerts, on_alert=lambda alert: say(_words(alert)), on_status=on_status,
        )  # fmt: skip
        run_until_interrupted(writer.trigger(processingTime=f"{every} seconds").start())
    if newest:
        show_one(_facts(newest[0]), as_json)


def _function(text: str) -> Function:
    from ecmsketch.monitor import Frequency, HeavyHitterShare, InnerProduct, SelfJoin, Total

    kind, _, rest = text.partition(":")
    if text == "total":
        return Total()
    if text == "self-join":
        return SelfJoin()
    if kind == "frequency" and rest:
        return Frequency(item_of(rest))
    if kind == "inner" and rest.count(",") == 1:
        return InnerProduct(*rest.split(","))
    if kind == "share" and ":" in rest:
        named, _, phi = rest.rpartition(":")
        try:
            return HeavyHitterShare(item_of(named), float(phi))
        except ValueError:
            pass
    raise typer.BadParameter(
        f"expected total, self-join, frequency:ITEM, share:ITEM:PHI or inner:A,B, got {text!r}", param_hint="--function"
    )


def _threshold(above: float | None, between: tuple[float, float] | None, within: float | None) -> Threshold:
    from ecmsketch.monitor import Above, Between, Tracking

    if [above, between, within].count(None) != 2:
        raise typer.BadParameter("give one of --above, --between and --within")
    if above is not None:
        return Above(above)
    return Between(*between) if between is not None else Tracking(within or 0.0)


def _facts(status: Status) -> dict[str, Any]:
    shipped = _EVENT_BYTES * status.events
    return {
        "value": status.value,
        "region": status.region,
        "stays_from": status.low,
        "stays_to": status.high,
        "now": status.now,
        "last_synchronised": status.synchronised,
        "resolving": status.syncing,
        "sites": status.sites,
        "events": status.events,
        "rejected": status.rejected,
        "messages": status.messages,
        "messages_saved": status.events - status.messages,
        "bytes": status.bytes,
        "bytes_saved": shipped - status.bytes,
    }


def _words(alert: Alert) -> str:
    if alert.previous is None:
        return f"watching from {alert.tick}: value {alert.value:,.0f}, region {alert.region}"
    way = "up" if alert.region > alert.previous else "down"
    return f"ALERT at {alert.tick}: {way} to region {alert.region}, value {alert.value:,.0f}"
