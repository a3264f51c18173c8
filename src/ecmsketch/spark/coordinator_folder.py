"""The coordinator of a monitor, trigger by trigger, in a folder of its own.

Its state after every trigger is a file. A trigger that is done again after a crash begins with the state before it,
takes the same reports, and writes the same files again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from pyspark.sql import Row

from ecmsketch.errors import ConfigError, InputError
from ecmsketch.monitor import Alert, Coordinator, Custom, Total, Watch
from ecmsketch.spark.cleaning import Reasons, add_reasons
from ecmsketch.spark.trigger_files import TriggerFiles

_KEPT = 3
"""How many states of the coordinator are kept: that of the current trigger, and some before it."""


class Status(NamedTuple):
    """How a monitor stands after a trigger. Counts are of all triggers so far."""

    batch: int
    now: int | None
    value: float | None
    region: int | None
    low: float
    high: float
    syncing: bool
    """Whether something is being resolved: the coordinator waits for sites, or sites for its answers."""
    epoch: int
    synchronised: int | None
    """The tick of the last synchronisation."""
    sites: int
    events: int
    rejected: int
    messages: int
    bytes: int
    reasons: Reasons = {}  # noqa: RUF012 - never changed
    """Why rows were rejected."""


class CoordinatorFolder:
    """The coordinator of one watch in a folder: `outbox` has its messages, `states` its state after each trigger."""

    def __init__(self, folder: str, watch: Watch) -> None:
        self._watch = watch
        files = TriggerFiles(folder)
        self._outbox, self._states = files.inside("outbox"), files.inside("states")
        self._claim(files)

    @property
    def outbox(self) -> str:
        """Where the messages to sites are."""
        return self._outbox.place

    def _claim(self, files: TriggerFiles) -> None:
        """Refuse a folder of another watch: sites and coordinator go on with what they had agreed upon."""
        function = self._watch.function
        same = "Custom" if isinstance(function, Custom) else repr(function)
        watch = f"{same} {replace(self._watch, function=Total())!r}"
        known = files.text("watch.txt")
        if known not in (None, watch):
            raise ConfigError(
                f"folder: {files.place} belongs to another watch, {known}; use a new folder for {watch}, or delete "
                "this one"
            )
        files.put_text("watch.txt", watch)

    def take(self, number: int, rows: Iterable[Row]) -> tuple[Status, list[Alert]]:
        """Take a trigger's reports; returns how the monitor stands, and the alerts that were raised.

        The state before the trigger decides, so a trigger that is done again does the same.
        """
        found = sorted(rows, key=lambda row: (row["site"] or "", row["message"] or b""))
        coordinator, before = self._before(number)
        reports = [bytes(row["message"]) for row in found if row["message"] is not None]
        clocks = [row["now"] for row in found if row["now"] is not None]
        out = coordinator.receive(*reports) if reports else []
        if clocks:
            out += coordinator.tick(max(clocks))
        status = _status(number, coordinator, before, found, reports + [message for _, message in out])
        status = status._replace(syncing=coordinator.syncing or bool(out))
        self._write(status, coordinator, out)
        return status, list(coordinator.alerts)

    def _write(self, status: Status, coordinator: Coordinator, out: list[tuple[str, bytes]]) -> None:
        """Write the state after a trigger and the messages to sites, and delete states that are too old."""
        number = status.batch
        totals = {name: getattr(status, name) for name in ("events", "messages", "bytes", "synchronised")}
        reasons = json.dumps(status.reasons)
        self._states.put(number, {"coordinator": coordinator.serialize(), "reasons": reasons, **totals})
        if out:
            self._outbox.put(number, *({"site": site, "message": message} for site, message in out))
        for old in self._states.numbers():
            if old <= number - _KEPT:
                self._states.delete(old)

    def _before(self, number: int) -> tuple[Coordinator, dict[str, Any]]:
        """The coordinator before a trigger, and the counts of all triggers up to then."""
        known = [old for old in self._states.numbers() if old < number]
        if not known:
            if number:
                raise InputError(
                    f"{self._states.place}: the coordinator's state is gone, but the checkpoint is at trigger "
                    f"{number}; start again with a new folder"
                )
            nothing: dict[str, Any] = {"events": 0, "messages": 0, "bytes": 0, "synchronised": None, "reasons": {}}
            return Coordinator(self._watch), nothing
        (row,) = self._states.read(max(known))
        row["reasons"] = json.loads(row["reasons"])
        return Coordinator.deserialize(row.pop("coordinator"), self._watch), row


def _status(
    number: int, coordinator: Coordinator, before: dict[str, Any], found: list[Row], messages: list[bytes]
) -> Status:
    """How a monitor stands after a trigger with some reports and answers."""
    low, high = coordinator.bounds or (-float("inf"), float("inf"))
    reasons = dict(before["reasons"])
    for row in found:
        add_reasons(reasons, dict(row["reasons"] or {}))
    return Status(
        batch=number,
        now=coordinator.now,
        value=coordinator.value,
        region=coordinator.region,
        low=low,
        high=high,
        syncing=coordinator.syncing,
        epoch=coordinator.epoch,
        synchronised=coordinator.now if coordinator.counts["syncs"] else before["synchronised"],
        sites=len(coordinator.sites),
        events=before["events"] + sum(row["events"] for row in found),
        rejected=sum(reasons.values()),
        messages=before["messages"] + len(messages),
        bytes=before["bytes"] + sum(map(len, messages)),
        reasons=reasons,
    )
