"""Seeded simulations over every function, threshold, test, way of balancing, kind of traffic and kind of channel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import ecmsketch as ecm
from ecmsketch.monitor import (
    Above,
    AnyItem,
    AnyShare,
    Between,
    Channel,
    Custom,
    Events,
    Frequency,
    HeavyHitterShare,
    InnerProduct,
    Outage,
    SelfJoin,
    Total,
    Tracking,
    Watch,
    simulate,
)
from ecmsketch.monitor.events import ExactWindow

LAST, EVERY, END = 24, 5, 80
CONFIG = ecm.SketchConfig(epsilon=0.4, delta=0.3, window=30, counter="eh")
FUNCTIONS = {
    "total": Total(),
    "frequency": Frequency(1),
    "share": HeavyHitterShare(1, 0.25),
    "self-join": SelfJoin(),
    "inner": InnerProduct("a", "b"),
    "least self-join": SelfJoin(centred=False),
    "least inner": InnerProduct("a", "b", centred=False),
    "any item": AnyItem(9),
    "any share": AnyShare(0.2),
    "custom": Custom(lambda vector: abs(float(vector[0])) ** 1.5, starts=1),
}
THRESHOLDS = ("above", "between", "tracking", "relative", "lead")
TRAFFIC = ("steady", "stops", "one site", "flood", "in turn")
CHANNELS = ("reliable", "slow", "lossy", "outage")


def traffic(kind, streams, rng):
    """Columns of some arrivals at four sites."""
    count = int(rng.integers(100, 500))
    tick = rng.integers(0, END, count)
    site = rng.integers(0, 4, count)
    item = np.minimum(rng.geometric(0.25, count), 12)
    weight = rng.choice([1, 1, 1, 5], count)
    if kind == "stops":
        tick = tick % (END // 2)
    elif kind == "one site":
        site[:] = 2
    elif kind == "flood":
        flood = rng.random(count) < 0.5
        item[flood], tick[flood] = 1, rng.integers(END // 3, END // 2, int(flood.sum()))
    elif kind == "in turn":
        site = tick // 10 % 4
    return Events([f"s{i}" for i in site], item, tick, weight, rng.choice(streams, count))


def values(function, events):
    """Exact values at the steps, to choose thresholds among."""
    if isinstance(function, Custom):
        return [value**1.5 for value in values(function.of, events)]
    window, found = ExactWindow(events, LAST), []
    for tick, _ in events.steps(EVERY, END + LAST):
        window.move(tick)
        found.append(function.exact(window))
    return found


def threshold(kind, found, rng):
    low, high = np.sort(np.quantile(found, rng.uniform(0.1, 0.95, 2))).tolist()
    if kind == "above":
        return Above(high)
    if kind == "between":
        return Between(low, max(high, low + 1))
    spread = float(np.ptp(found))
    if kind == "tracking":
        return Tracking(spread * rng.uniform(0.05, 0.4))
    return Tracking(rng.uniform(0.1, 0.5), relative=True) if kind == "relative" else Tracking(spread * 0.2, lead=0.6)


def any_of(function, rng):
    """A threshold for all items at once, of a function of that kind."""
    if isinstance(function, AnyItem):
        return AnyItem(float(rng.integers(2, 80)))
    return AnyShare(float(rng.uniform(0.02, 0.6))) if isinstance(function, AnyShare) else function


def scenario(seed):
    """A watch, events, and how to replay them: all drawn from a seed."""
    rng = np.random.default_rng(seed)
    # Numeric optimisation takes its time: a custom function now and then.
    name = "custom" if seed % 250 == 0 and seed else rng.choice(list(FUNCTIONS)[:-1])
    function = any_of(FUNCTIONS[name], rng)
    flow = str(rng.choice(TRAFFIC))
    events = traffic(flow, list(function.streams), rng)
    kind = str(rng.choice(CHANNELS))
    channel, outages, patience, give_up = Channel(), [], None, None
    if kind == "slow":
        channel = Channel(delay=int(rng.integers(0, 6)), jitter=int(rng.integers(0, 10)), seed=seed)
    if kind in ("lossy", "outage"):
        channel = Channel(delay=int(rng.integers(0, 3)), jitter=6, duplicate=0.2, drop=0.2, seed=seed)
        patience = int(rng.integers(3, 8))
    if kind == "outage":
        begin = int(rng.integers(0, END))
        outages = [Outage(f"s{rng.integers(0, 4)}", begin, begin + int(rng.integers(5, 80)))]
        give_up = int(rng.integers(20, 60))
    config = CONFIG.replace(counter="slices") if seed % 4 == 0 else CONFIG
    watch = Watch(
        function,
        None if function.per_item else threshold(rng.choice(THRESHOLDS), values(function, events), rng),
        LAST,
        config.replace(heavy_hitters=True) if function.per_item else config,
        combine="sum" if function.per_item else str(rng.choice(["sum", "sum", "average"])),
        test=str(rng.choice(["zone", "ball"])),
        balance=str(rng.choice(["lazy", "eager"])),
        mode=str(rng.choice(["auto", "zones", "changes"])),
        patience=patience,
        give_up=give_up,
    )
    until = END + LAST + (0 if kind == "reliable" else 100 if kind == "slow" else 250)
    names = [f"s{i}" for i in range(4) if f"s{i}" not in events.site_names]
    how = {"channel": channel, "outages": outages, "until": until, "sites": names}
    return Kinds(str(name), flow, kind), watch, events, how


class Kinds(NamedTuple):
    """What a scenario has: names in FUNCTIONS, TRAFFIC and CHANNELS."""

    function: str
    traffic: str
    channel: str


class Checked(NamedTuple):
    """A run that missed nothing: at how many steps the guarantee was put to the test, and how often it was crossed."""

    kinds: Kinds
    settled: int
    alerts: int


def check(seed):
    """Run a seed's scenario."""
    kinds, watch, events, how = scenario(seed)
    kind = kinds.channel
    found = simulate(watch, events, every=EVERY, **how)
    what = f"seed {seed}: {kinds}, {watch}"
    assert found.missed == 0, what
    if not found.moments[-1].settled:
        found = simulate(watch, events, every=EVERY, **(how | {"until": how["until"] + 1500}))
    assert found.moments[-1].settled, f"never settled: {what}"
    assert found.missed == 0, what
    assert found.moments[-1].region == found.moments[-1].known_region, what
    if kind == "reliable":
        assert found.settled == len(found.moments), what
        assert found.lag == 0, what
    return Checked(kinds, found.settled, len(found.alerts))
