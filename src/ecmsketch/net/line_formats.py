"""Lines as events: `item[,tick[,weight[,stream]]]`, whole lines, CSV or JSON. A line that is none is counted."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ecmsketch.errors import ConfigError
from ecmsketch.inputs.ticks import MAX_TICK, TICKS_PER_DAY, to_tick

FORMATS = ("line", "text", "csv", "json")
MAX_LINE = 2**16
"""Bytes of a line; a longer one is rejected."""
MAX_WEIGHT = 2**40
_WHOLE = re.compile(r"[0-9]{1,19}")
_DECIMAL = re.compile(r"[0-9]{1,19}\.[0-9]{1,30}")
_ROLES = ("item", "tick", "weight", "stream")


@dataclass
class Batch:
    """Events as columns by stream, and how many lines were no events, by reason."""

    streams: dict[str, tuple[list[Any], list[int], list[int]]] = field(default_factory=dict)
    rejected: Counter[str] = field(default_factory=Counter)

    def add(self, item: Any, tick: int, weight: int = 1, stream: str = "") -> None:
        """Add an event."""
        for column, value in zip(self.streams.setdefault(stream, ([], [], [])), (item, tick, weight), strict=True):
            column.append(value)

    def __len__(self) -> int:
        return sum(len(items) for items, _, _ in self.streams.values())


@dataclass(frozen=True)
class LineFormat:
    """How a line becomes an event.

    format  "line": item[,tick[,weight[,stream]]]; "text": the whole line is the item; "csv" or "json": fields by role
    item, tick, weight, stream  for "csv" the number of the column, from 1; for "json" the key. A field that is not
            given or empty is the clock's tick, the weight 1, the stream ""
    """

    format: str = "line"
    item: str | None = None
    tick: str | None = None
    weight: str | None = None
    stream: str | None = None

    def __post_init__(self) -> None:
        given = {role: getattr(self, role) for role in _ROLES if getattr(self, role) is not None}
        if self.format not in FORMATS:
            raise ConfigError(f"--format: expected one of {', '.join(FORMATS)}, got {self.format!r}")
        if self.format in ("line", "text"):
            if given:
                raise ConfigError(f"--{next(iter(given))}: expected with --format csv or json only")
            return
        if self.item is None:
            raise ConfigError(f"--item: give the field of the item, for --format {self.format}")
        for role, name in given.items():
            if self.format == "csv" and not (_WHOLE.fullmatch(name) and 1 <= int(name) <= 10_000):
                raise ConfigError(f"--{role}: expected the number of a column, from 1, for --format csv; got {name!r}")

    def read(self, lines: Iterable[bytes], clock: int, unit: str, streams: tuple[str, ...], ahead: int) -> Batch:
        """The events in some lines, at a clock; ticks more than `ahead` ahead of it are rejected."""
        batch = Batch()
        for line in lines:
            try:
                item, tick, weight, stream = self._event(line, clock, unit)
            except _RejectedError as error:
                batch.rejected[error.args[0]] += 1
                continue
            if stream not in streams:
                batch.rejected["another stream"] += 1
            elif tick > clock + ahead:
                batch.rejected["tick ahead of the clock"] += 1
            else:
                batch.add(item, tick, weight, stream)
        return batch

    def _event(self, line: bytes, clock: int, unit: str) -> tuple[str, int, int, str]:
        if len(line) > MAX_LINE:
            raise _RejectedError("line too long")
        try:
            text = line.decode().rstrip("\r")
        except UnicodeDecodeError:
            raise _RejectedError("not UTF-8") from None
        item, tick, weight, stream = self._fields(text)
        if not item:
            raise _RejectedError("no item")
        return item, _tick(tick, clock, unit), _weight(weight), stream

    def _fields(self, text: str) -> tuple[str, str, str, str]:
        if self.format == "text":
            return text, "", "", ""
        if self.format == "line":
            parts = text.split(",")
            if len(parts) > len(_ROLES):
                raise _RejectedError("too many fields")
            parts += [""] * (len(_ROLES) - len(parts))
            return parts[0], parts[1].strip(), parts[2].strip(), parts[3].strip()
        pick = _csv_fields(text) if self.format == "csv" else _json_fields(text)
        item, tick, weight, stream = (
            "" if name is None else pick.get(name, "") for name in (self.item, self.tick, self.weight, self.stream)
        )
        return item, tick, weight, stream


class _RejectedError(Exception):
    """A line that is no event; its argument is the reason."""


def _csv_fields(text: str) -> dict[str, str]:
    try:
        rows = list(csv.reader([text], strict=True))
    except csv.Error:
        raise _RejectedError("not CSV") from None
    return {str(number): value for number, value in enumerate(rows[0] if rows else (), 1)}


def _json_fields(text: str) -> dict[str, str]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise _RejectedError("not JSON") from None
    if not isinstance(found, dict):
        raise _RejectedError("not JSON")
    return {name: value if isinstance(value, str) else _json_text(value) for name, value in found.items()}


def _json_text(value: Any) -> str:
    """Numbers as their text; anything else is no field."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _tick(text: str, clock: int, unit: str) -> int:
    """A tick: a whole number of ticks, seconds with a decimal point, or a time such as 2026-06-01T12:00:00Z."""
    if not text:
        return clock
    if _WHOLE.fullmatch(text):
        tick = int(text)
    elif _DECIMAL.fullmatch(text):
        whole, _, part = text.partition(".")
        tick = int(whole + part) * TICKS_PER_DAY[unit] // (86_400 * 10 ** len(part))
    else:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise _RejectedError("no tick") from None
        tick = to_tick(moment if moment.tzinfo else moment.replace(tzinfo=UTC), unit)
    if not 0 <= tick <= MAX_TICK:
        raise _RejectedError("no tick")
    return tick


def _weight(text: str) -> int:
    if not text:
        return 1
    if not _WHOLE.fullmatch(text) or not 1 <= int(text) <= MAX_WEIGHT:
        raise _RejectedError("no weight")
    return int(text)
