"""Events for a fleet of sites, the exact count of what is watched, and how it compares with the alerts."""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter
from dataclasses import dataclass

from net_processes import Fleet

ITEM = "10.6.6.6"


@dataclass
class Traffic:
    """Writes `item,tick` lines to all sites, and remembers them. `flood` is how many of ITEM come a second over all
    sites, as pairs (seconds since the start, rate from then on).
    """

    fleet: Fleet
    flood: list[tuple[float, float]]
    background: float
    """Other events a second over all sites."""
    seed: int
    others: int = 500
    """Of so many items."""

    def __post_init__(self):
        self.arrived = Counter()
        self.events = 0

    def run(self, seconds, each_step=lambda elapsed: None):
        """Write for some seconds, ten times a second, or until each_step says True; returns when it began."""
        rng = random.Random(self.seed)
        started = before = time.time()
        owed = {ITEM: 0.0, "": 0.0}
        while (now := time.time()) - started < seconds:
            rate = [rate for since, rate in self.flood if now - started >= since][-1]
            owed[ITEM] += rate * (now - before)
            owed[""] += self.background * (now - before)
            before = now
            lines = {}
            for kind in owed:
                for _ in range(int(owed[kind])):
                    lines.setdefault(rng.choice(self.fleet.sites), []).append(
                        f"{kind or rng.randrange(self.others)},{int(now)}"
                    )
                    self.arrived[int(now)] += kind == ITEM
                    self.events += 1
                owed[kind] -= int(owed[kind])
            for name, some in lines.items():
                self.fleet.write(name, some)
            if each_step(now - started) is True:
                break
            time.sleep(max(0.1 - (time.time() - now), 0))
        return started

    def exact(self, now, last):
        """How often ITEM came in the ticks (now - last, now]."""
        return sum(self.arrived[tick] for tick in range(now - last + 1, now + 1))


def of_item(alerts):
    """The alerts about ITEM, or about a value; before the first nothing is wrong."""
    return [(0.0, {"region": 0}), *((when, alert) for when, alert in alerts if alert["item"] in (None, ITEM))]


def known_region(alerts, when):
    """The region that the coordinator had announced by some time."""
    return [alert["region"] for at, alert in alerts if at <= when][-1]


def wrong_seconds(traffic, alerts, started, ended, last, tau, within, margin):
    """Seconds at which the announced region is not the exact one, though the exact value has been on the same side of
    the threshold, by a margin, for `within` seconds.
    """
    wrong = []
    for now in range(int(started) + within, int(ended)):
        values = [traffic.exact(tick, last) for tick in range(now - within, now + 1)]
        expected = 1 if min(values) >= tau * (1 + margin) else 0 if max(values) <= tau * (1 - margin) else None
        if expected is not None and known_region(alerts, now + 1) != expected:
            wrong.append((now - int(started), expected, values[-1]))
    return wrong


def crossings(traffic, alerts, started, ended, last, tau):
    """For each crossing of the exact value: its second, the region after it, and seconds until that is announced.

    An alert may come before the end of the second of the crossing, or when the value has nearly reached the threshold,
    since sketches err by epsilon.
    """
    seconds = range(int(started), int(ended))
    exact = [int(traffic.exact(now, last) >= tau) for now in seconds]
    found = []
    for (before, region), now in zip(itertools.pairwise(exact), seconds[1:], strict=True):
        if before != region:
            announced = next((at for at in range(now, int(ended) + 1) if known_region(alerts, at) == region), None)
            exactly = [at for at, alert in alerts if alert["region"] == region and at <= (announced or 0)]
            found.append((now - int(started), region, None if not exactly else round(max(exactly[-1] - now, 0.0), 1)))
    return found
