"""What one `update` costs: every kind of tick, weight, model, counter and item, at least a million calls a second."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

import ecmsketch as ecm
from benchmarks.table import Row, best_seconds, show

CALLS = 50_000
START = datetime(2026, 3, 28, tzinfo=UTC)
SECOND = int(START.timestamp())
LEAST_RATE = 1e6
_NAIVE_EPOCH, _EPOCH = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)


def _moments(zone: Any) -> list[datetime]:
    return [(START + timedelta(seconds=n)).astimezone(zone) for n in range(CALLS)]


def ticks() -> dict[str, list[Any]]:
    """Ticks of every kind, in order."""
    return {
        "int": list(range(SECOND, SECOND + CALLS)),
        "np.int64": list(np.arange(SECOND, SECOND + CALLS)),
        "np.uint32": list(np.arange(SECOND, SECOND + CALLS, dtype=np.uint32)),
        "datetime": [moment.replace(tzinfo=None) for moment in _moments(UTC)],
        "datetime, UTC": _moments(UTC),
        "datetime, fixed offset": _moments(timezone(timedelta(hours=2))),
        "datetime, zoneinfo": _moments(ZoneInfo("Europe/Paris")),
        "date": [date(2026, 1, 1) + timedelta(days=n // 100) for n in range(CALLS)],
        "np.datetime64": list(np.arange(SECOND, SECOND + CALLS).astype("M8[s]")),
    }


def items() -> dict[str, list[Any]]:
    """Items of every kind."""
    numbers = (np.arange(CALLS) * 2_654_435_761 % 1_000_003).tolist()
    return {
        "int": numbers,
        "np.int64": list(np.array(numbers)),
        "str": [f"/page/{number}" for number in numbers],
        "bytes": [f"/page/{number}".encode() for number in numbers],
        "tuple": [(f"/page/{number}", number % 7) for number in numbers],
    }


def fill(settings: ecm.SketchConfig, columns: tuple[list[Any], ...]) -> None:
    sketch = ecm.EcmSketch(settings, site="here")
    if len(columns) == 1:
        for item in columns[0]:
            sketch.update(item)
    elif len(columns) == 2:
        for item, tick in zip(*columns, strict=True):
            sketch.update(item, tick)
    else:
        for item, tick, weight in zip(*columns, strict=True):
            sketch.update(item, tick, weight)
    sketch.total()  # counts what is still gathered


def make(**changes) -> ecm.SketchConfig:
    return ecm.SketchConfig(**{"epsilon": 0.05, "delta": 0.1, "window": 10**7, "unit": "s", **changes})


def works() -> dict[str, Any]:
    """What is timed, by name."""
    moments, things = ticks(), items()
    plain, number = moments["int"], things["int"]
    cells: dict[str, tuple[ecm.SketchConfig, tuple[list[Any], ...]]] = {
        **{f"tick {name}": (make(), (number, column)) for name, column in moments.items()},
        **{f"item {name}": (make(), (column, plain)) for name, column in things.items()},
        "weight int": (make(), (number, plain, [2 + n % 9 for n in range(CALLS)])),
        "weight np.int64": (make(), (number, plain, list(2 + np.arange(CALLS) % 9))),
        "model count": (make(model="count"), (number,)),
        "model count, weight": (make(model="count"), (number, [None] * CALLS, [2] * CALLS)),
        "counter eh": (make(counter="eh"), (number, plain)),
        "counter dw": (make(counter="dw"), (number, plain)),
        "counter rw": (make(counter="rw", epsilon=0.3), (number, plain)),
        "heavy_hitters, int": (make(heavy_hitters=True), (number, plain)),
        "heavy_hitters, str": (make(heavy_hitters=True), (things["str"], plain)),
    }
    return {name: lambda cell=cell: fill(*cell) for name, cell in cells.items()}


def _only_convert(moments: list[datetime], epoch: datetime) -> None:
    for moment in moments:
        since = moment - epoch
        since.days * 86_400 + since.seconds


def run() -> None:
    """Time single updates of every kind."""
    timed = works()
    moments = ticks()
    converted = {
        f"only converting: {name}": lambda n=name, e=epoch: _only_convert(moments[n], e)
        for name, epoch in (("datetime", _NAIVE_EPOCH), ("datetime, UTC", _EPOCH), ("datetime, zoneinfo", _EPOCH))
    }
    seconds = best_seconds(*timed.values(), *converted.values(), rounds=3)
    rows = []
    for name, took in zip([*timed, *converted], seconds, strict=True):
        target, met = ("at least 1", CALLS / took >= LEAST_RATE) if name in timed else ("", None)
        rows.append(Row(name, f"{CALLS / took / 1e6:.2f} M calls/s, {took / CALLS * 1e9:.0f} ns", target, met))
    show("Single updates, by kind of tick, item, weight, model and counter", rows)
