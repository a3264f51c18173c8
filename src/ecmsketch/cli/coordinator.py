"""ecmsketch coordinator: watch a threshold over sites that are processes of their own, anywhere on the network."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ecmsketch.cli.alert_text import alert_facts, alert_words, finite
from ecmsketch.cli.net_options import SecurityOptions, needs_net, run_until_stopped, seconds
from ecmsketch.cli.options import AsJson
from ecmsketch.cli.output import say
from ecmsketch.cli.watch_options import WatchOptions
from ecmsketch.cli.webhook_options import WebhookOptions
from ecmsketch.inputs.kinds import NOTHING
from ecmsketch.inputs.visible import visible

if TYPE_CHECKING:
    from ecmsketch.monitor import Alert, Watch
    from ecmsketch.net import Address, CoordinatorSettings, Listening, NetStatus


def coordinator(
    options: WatchOptions,
    security: SecurityOptions,
    sending: WebhookOptions,
    listen: Annotated[
        str, typer.Option(help="Address and port for sites. Any but loopback needs a token and TLS.")
    ] = "127.0.0.1:8610",
    state: Annotated[str | None, typer.Option(help="Folder for the state, so that it may be killed and go on.")] = None,
    alerts: Annotated[str | None, typer.Option(help="Also write alerts into this Delta table.")] = None,
    name: Annotated[str, typer.Option(help="Name of the monitor in the table of alerts.")] = "monitor",
    missing_after: Annotated[str, typer.Option(help="A site that is silent for this long is left out.")] = "10s",
    status_every: Annotated[str, typer.Option(help="How often the status is printed.")] = "10s",
    max_sites: Annotated[int, typer.Option(help="Connections at once.", min=1, max=100_000)] = 1000,
    as_json: AsJson = False,
) -> None:
    """Watch a threshold over all sites that connect. Alerts go to standard output. Ctrl-C stops.

    Example: ecmsketch coordinator --function any-item --above 10000 --last 10m --state watching --alerts alerts
    --listen 0.0.0.0:8610 --token-file secret --tls-cert cert.pem --tls-key key.pem; then start `ecmsketch site` where
    events are.
    """
    sending.check(alerts)
    every, after = seconds(status_every, "--status-every"), seconds(missing_after, "--missing-after")
    needs_net()
    from ecmsketch.net import Address, CoordinatorSettings, Listening

    watch = replace(options.watch(NOTHING), balance="lazy")
    listening = Listening(
        Address.parse(listen, "--listen"), security.token_file, security.tls_cert, security.tls_key, security.tls_ca,
        security.insecure,
    )  # fmt: skip
    settings = CoordinatorSettings(after, max_sites, state, name, alerts)
    printer = _Printer(options.unit, as_json, every)
    with sending.delivering(alerts, state or ".", name):
        _serve(watch, listening, settings, printer)


def _serve(watch: Watch, listening: Listening, settings: CoordinatorSettings, printer: _Printer) -> None:
    from ecmsketch.net import serve_coordinator

    def ready(address: Address) -> None:
        say(f"waiting for sites at {address}; Ctrl-C stops")

    run_until_stopped(
        lambda stop: serve_coordinator(
            watch,
            listening,
            settings,
            on_alert=printer.alert,
            on_status=printer.status,
            on_ready=ready,
            stop=stop,
            say=say,
        )
    )
    printer.last_status()


class _Printer:
    """Prints alerts on standard output, and the status now and then: on the error stream, or as JSON beside alerts."""

    def __init__(self, unit: str, as_json: bool, every: float) -> None:
        self._unit, self._as_json, self._every = unit, as_json, every
        self._newest: NetStatus | None = None
        self._turn = 0.0

    def alert(self, alert: Alert) -> None:
        if self._as_json:
            _print_json("alert", alert_facts(alert))
            return
        print(visible(alert_words(alert, self._unit)), flush=True)

    def status(self, status: NetStatus) -> None:
        self._newest = status
        self._turn += 1  # one call a second
        if self._turn >= self._every:
            self._turn = 0.0
            self.last_status()

    def last_status(self) -> None:
        if self._newest is None:
            return
        show: Callable[[NetStatus], None] = _print_status if self._as_json else _say_status
        show(self._newest)


def _print_json(kind: str, facts: dict[str, Any]) -> None:
    print(json.dumps({kind: facts}), flush=True)


def _print_status(status: NetStatus) -> None:
    _print_json("status", finite(status._asdict()))


def _say_status(status: NetStatus) -> None:
    value = "no value yet" if status.value is None else f"value {status.value:,.0f}, region {status.region}"
    parts = [
        value + (", resolving" if status.syncing else ""),
        f"{status.connected} of {status.sites} sites connected, {len(status.missing)} missing",
        f"{status.events:,} events, {status.rejected:,} rejected, {status.late:,} too late, {status.lost:,} lost",
        f"{status.messages:,} messages of {status.bytes:,} bytes, and {status.control_frames:,} of "
        f"{status.control_bytes:,} to keep in touch",
    ]
    if status.refused or status.faults:
        parts.append(f"{status.refused:,} connections refused, {status.faults:,} closed for what they sent")
    if status.raised:
        parts.insert(1, f"above: {', '.join(status.raised)}")
    say(visible("; ".join(parts)))
