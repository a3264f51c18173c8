"""Stores whose exact counts are known, and apps that serve them."""

from __future__ import annotations

from collections import Counter

from fastapi.testclient import TestClient

import ecmsketch as ecm
from ecmsketch.serve import LiveStore
from ecmsketch.serve.access import Access
from ecmsketch.serve.app import make_app
from ecmsketch.store import SketchRow, SketchStore

BEGIN = 1_700_000_000
HOSTILE = '<script>alert(1)</script>\n"\\'
SITES = ("berlin", "paris", HOSTILE)
LOOPBACK = Access(frozenset({"testserver", "localhost"}), None)


def config(**changes):
    return ecm.SketchConfig(
        **{"epsilon": 0.01, "delta": 0.01, "window": 3600, "unit": "s", "heavy_hitters": True, **changes}
    )


def events(site, until=600):
    """The arrivals of a site: (item, tick). The last site is idle in the second half."""
    number = SITES.index(site)
    last = until // 2 if number == 2 else until
    return [(f"/{(tick * tick + number) % 7}", BEGIN + tick) for tick in range(1, last + 1)]


def sketch_of(arrivals, **changes):
    sketch = ecm.EcmSketch(config(**changes))
    sketch.update_many([item for item, _ in arrivals], [tick for _, tick in arrivals])
    return sketch


def write(path, batch=0, until=600, sites=SITES):
    """Write what the sites counted until a tick, as the snapshot of a stream's trigger."""
    rows = [SketchRow(site, sketch_of(events(site, until)), events=until, part="snapshot") for site in sites]
    return SketchStore(path).append_once(rows, "stream", batch)


def exact(sites=SITES, since=0, until=600, written=600):
    """How often each item came at some sites after BEGIN + since, up to BEGIN + until."""
    return Counter(
        item for site in sites for item, tick in events(site, written) if BEGIN + since < tick <= BEGIN + until
    )


def client(live, access=LOOPBACK, **more):
    return TestClient(make_app(live, access, page=False, **more), raise_server_exceptions=False)


def read(path, alerts=None):
    """A followed store that was read once, without a thread."""
    live = LiveStore(path, alerts)
    live.refresh()
    return live
