"""The coordinator of a monitor, trigger by trigger, in a folder of the driver's machine.

Its state after every trigger is a file. A trigger that is done again after a crash begins with the state before it,
takes the same reports, and writes the same files again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from pyspark.sql import Row

from ecmsketch.errors import ConfigError, InputError
from ecmsketch.monitor import Alert, Coordinator, Custom, Total, Watch
from ecmsketch.spark.cleaning import Reasons, add_reasons
from ecmsketch.spark.outbox import name_of, numbers_in, put

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

    def __init__(self, folder: Path, watch: Watch) -> None:
        self._watch = watch
        self.outbox, self._states = str((folder / "outbox").absolute()), folder / "states"
        for made in (Path(self.outbox), self._states):
            made.mkdir(parents=True, exist_ok=True)
        self._claim(folder / "watch.txt")

    def _claim(self, path: Path) -> None:
        """Refuse a folder of another watch: sites and coordinator go on with what they had agreed upon."""
        function = self._watch.function
        same = "Custom" if isinstance(function, Custom) else repr(function)
        watch = f"{same} {replace(self._watch, function=Total())!r}"
        if path.exists() and path.read_text() != watch:
            raise ConfigError(
                f"folder: {path.parent} belongs to another watch, {path.read_text()}; use a new folder for {watch}, "
                "or delete this one"
            )
        path.write_text(watch)

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
        put(self._states, number, {"coordinator": coordinator.serialize(), "reasons": reasons, **totals})
        if out:
            put(Path(self.outbox), number, *({"site": site, "message": message} for site, message in out))
        for old in numbers_in(self._states):
            if old <= number - _KEPT:
                (self._states / name_of(old)).unlink(missing_ok=True)

    def _before(self, number: int) -> tuple[Coordinator, dict[str, Any]]:
        """The coordinator before a trigger, and the counts of all triggers up to then."""
        known = [old for old in numbers_in(self._states) if old < number]
        if not known:
            if number:
                raise InputError(
                    f"{self._states}: the coordinator's state is gone, but the checkpoint is at trigger {number}; "
                    "start again with a new folder"
                )
            nothing: dict[str, Any] = {"events": 0, "messages": 0, "bytes": 0, "synchronised": None, "reasons": {}}
            return Coordinator(self._watch), nothing
        (row,) = pq.read_table(self._states / name_of(max(known))).to_pylist()
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
