"""ecmsketch monitor: watch a threshold over all sites without shipping their streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ecmsketch.cli.alert_text import alert_words
from ecmsketch.cli.lengths import ahead_ticks
from ecmsketch.cli.live import LiveOptions, LiveSource
from ecmsketch.cli.options import Ahead, AsJson, Master
from ecmsketch.cli.output import changing, say, show_one
from ecmsketch.cli.times import with_times
from ecmsketch.cli.watch_options import WatchOptions
from ecmsketch.cli.webhook_options import WebhookOptions
from ecmsketch.inputs.kinds import NOTHING

if TYPE_CHECKING:
    from ecmsketch.spark import Status

_EVENT_BYTES = 16
"""Bytes of one shipped event: the hash of its item, and its tick."""


def monitor(
    options: WatchOptions,
    folder: Annotated[str, typer.Option(help="Folder or URL for this monitor's own state.", show_default=False)],
    live: LiveOptions,
    sending: WebhookOptions,
    stream: Annotated[str | None, typer.Option(help="Column that names the stream, for inner:A,B.")] = None,
    alerts: Annotated[str | None, typer.Option(help="Also write alerts into this Delta table.")] = None,
    ahead: Ahead = "1d",
    name: Annotated[str, typer.Option(help="Name of the monitor in the table of alerts.")] = "monitor",
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Watch a threshold over all sites of a stream. Sites send messages only when their part may matter.

    Ctrl-C stops after the current trigger. Press it again to stop at once.

    Example: ecmsketch monitor log --function frequency:28487 --above 5000 --last 5m --item object --tick timestamp
    --site server --speed 600 --folder watching --alerts alerts --webhook https://example.org/alerts
    """
    source, site = _checked_source(live, sending, alerts, folder)
    config = options.config()
    options.watch(NOTHING)  # raises errors before Spark starts; the kinds of the items are known only then
    from ecmsketch.cli.session import needs_spark, run_until_interrupted, spark_session

    with needs_spark():
        source.check(config, stream)
    with spark_session(master) as spark, _showing(options.unit, as_json) as on_status:
        from ecmsketch import spark as ecm_spark

        events = source.events(spark, config)
        watch = options.watch(ecm_spark.item_kinds(events, source.item))
        writer = ecm_spark.monitor_sites(
            events, watch, source.item, source.tick, site, source.weight, stream=stream, folder=folder,
            name=name, ahead=ahead_ticks(ahead, config.unit), alerts=alerts, on_status=on_status,
            on_alert=lambda alert: say(alert_words(alert, options.unit)),
        )  # fmt: skip
        with sending.delivering(alerts, folder, name):
            run_until_interrupted(live.start(writer))


def _checked_source(
    live: LiveOptions, sending: WebhookOptions, alerts: str | None, folder: str
) -> tuple[LiveSource, str]:
    """Where events come from and the column of the site, if there is one and alerts can be sent where they shall be."""
    if sending.webhook is not None and "://" in folder and "://" in (alerts or ""):
        raise typer.BadParameter(
            "what was sent to --webhook is noted on this machine: give a path for --folder or for --alerts",
            param_hint="--folder",
        )
    source = live.source()
    if source.site is None:
        raise typer.BadParameter("give the column of the site", param_hint="--site")
    sending.check(alerts)
    return source, source.site


@contextmanager
def _showing(unit: str, as_json: bool) -> Iterator[Callable[[Status], None]]:
    """Show each status in the same place, and the last one when the monitor has ended."""
    newest: dict[str, Any] = {}
    with changing(as_json) as change:

        def on_status(status: Status) -> None:
            newest.clear()
            newest.update(with_times(_facts(status), ("now", "last_synchronised"), unit, as_json))
            change(newest)

        yield on_status
    if newest:
        show_one(newest, as_json)


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
