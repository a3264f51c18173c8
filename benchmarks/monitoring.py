"""Messages and bytes of watching thresholds over many sites, against AutoMon, shipping all events and synchronising.

All methods run on the same events. "Tuned" synchronising has the longest period at which it is never wrong for longer
than the stated lag. Choosing that period takes knowledge of the future. It pays for no local test, and notices changes
only when its period ends.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import ecmsketch as ecm
from benchmarks import automon_setting
from benchmarks.table import Row, show
from ecmsketch.monitor import Above, Events, Frequency, HeavyHitterShare, SelfJoin, Simulation, Total, Watch, simulate
from ecmsketch.monitor.baselines import ship_batches, ship_packed, tuned_period

DATA = Path(__file__).parents[2] / "shared" / "data"


def run() -> None:
    """Compare on AutoMon's setting, on a generated log and, if they are there, on real flights."""
    _automon()
    _world_cup()
    if DATA.exists():
        _flights()


def _automon() -> None:
    given = [automon_setting.vectors(seed) for seed in range(3)]
    rows = []
    for bound, published in automon_setting.PUBLISHED.items():
        plain = [automon_setting.watched(one, bound, baselines=True) for one in given]
        ahead = [automon_setting.watched(one, bound, lead=0.7) for one in given]
        assert not any(found.missed for found in plain + ahead)
        count = np.mean([found.messages.total() for found in plain])
        lead = np.mean([found.messages.total() for found in ahead])
        period = np.mean([tuned_period(found).cost.messages for found in plain])
        value = f"{count:,.0f} messages; {lead:,.0f} with lead=0.7; tuned synchronising {period:,.0f}"
        rows.append(Row(f"error bound {bound}", value, f"at most AutoMon's {published:,}", bool(count <= published)))
    show("AutoMon's inner-product setting: 10 sites, 40 numbers, window 20, 1000 rounds; mean of 3 seeds", rows)


def _world_cup() -> None:
    from ecmsketch.generate import WorldCupLog
    from ecmsketch.worldcup98 import to_columns

    log = WorldCupLog(6_000_000, day=66, all_servers=True)
    columns = [to_columns(log.slice(index)) for index in range(log.slices)]
    server, page, tick = (
        np.concatenate([part[name] for part in columns]) for name in ("server", "object", "timestamp")
    )
    some = (tick - tick[0] >= 50_000) & (tick - tick[0] < 60_800)
    events = Events(server[some], page[some], tick[some])
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=600)
    busiest = int(np.bincount(page[some]).argmax())
    _compare(
        f"Generated World Cup, 33 sites, {len(events):,} requests in 3 hours, the last 10 minutes, checked every 30 s",
        events, config, 30, (Total(), Frequency(busiest), HeavyHitterShare(busiest, 0.05), SelfJoin()),
    )  # fmt: skip


def _flights() -> None:
    import pyarrow.parquet as pq

    table = pq.read_table(
        DATA / "flights" / "flights-3m.parquet", columns=["date", "origin", "destination"]
    ).to_pandas()
    tick = table["date"].to_numpy().astype("datetime64[m]").astype(np.int64)
    origin = table["origin"].to_numpy().astype(str)
    pair = np.char.add(np.char.add(origin, "-"), table["destination"].to_numpy().astype(str))
    some = tick < tick[0] + 28 * 1440
    events = Events(
        origin[some],
        pair[some],
        tick[some],
    )
    names, counts = np.unique(pair[some], return_counts=True)
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1440)
    _compare(
        f"Real flights, {len(events.site_names)} sites, {len(events):,} departures in 28 days, last day, hourly",
        events, config, 60, (Total(), Frequency(str(names[counts.argmax()])), SelfJoin()),
    )  # fmt: skip


def _compare(title: str, events: Events, config: ecm.SketchConfig, every: int, functions: Any) -> None:
    shipped, packed = ship_batches(events, every), ship_packed(events, every)
    rows = [
        Row("ship the events, 16 bytes each", f"{shipped.messages:,} messages, {shipped.bytes:,} bytes"),
        Row("ship the events, packed", f"{packed.messages:,} messages, {packed.bytes:,} bytes"),
    ]
    for function in functions:
        for where, share in (("seldom crossed", 0.98), ("often crossed", 0.5)):
            watch = Watch(function, Above(_level(function, events, config, every, share)), config.window, config)
            until = int(events.ticks[-1])
            found = simulate(watch, events, every=every, until=until, baselines=True)
            assert not found.missed
            ratio = shipped.bytes / found.bytes.total()
            value = f"{_cost(found)}, {ratio:.1f} x fewer bytes than shipping"
            rows.append(Row(f"{type(function).__name__}, {where}", value, "at least 10 x", ratio >= 10))
            for title_of, changes in (("ball", {"test": "ball"}), ("eager", {"balance": "eager"})):
                other = simulate(replace(watch, **changes), events, every=every, until=until)
                rows.append(Row(f"  {title_of}", _cost(other)))
            lag = config.window // 10
            period = tuned_period(found, lag=lag)
            rows.append(
                Row(
                    f"  tuned synchronising, every {period.ticks}",
                    f"{period.cost.messages:,} messages, {period.cost.bytes:,} bytes, wrong up to {period.lag} ticks",
                )
            )
    show(title, rows)


def _level(function: Any, events: Events, config: ecm.SketchConfig, every: int, share: float) -> float:
    """The value that the function is below for the given share of the time."""
    free = Watch(function, Above(1e15), config.window, config)
    found = simulate(free, events, every=every, until=int(events.ticks[-1]))
    values = found.column("value")[config.window // every :]
    return float(np.quantile(values, share))


def _cost(found: Simulation) -> str:
    return f"{found.messages.total():,} messages, {found.bytes.total():,} bytes"
