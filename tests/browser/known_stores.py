"""Stores whose counts are known, for the tests of the page."""

from __future__ import annotations

import numpy as np

import ecmsketch as ecm
from ecmsketch.store import SketchRow, SketchStore

NOW = 900_000_000
CONFIG = ecm.SketchConfig(epsilon=0.05, delta=0.05, window=86_400, unit="s", merge_depth=1, heavy_hitters=True)

LATELY = {
    "berlin": {"/index": 50, "/news": 5, "/login": 30, "/help": 12, "/about": 9},
    "paris": {"/index": 10, "/news": 35, "/cart": 20, "/jobs": 2},
}
"""Arrivals in the last five minutes."""
EARLIER = {"berlin": {"/night": 500}, "paris": {"/night": 200}}
"""Arrivals about half an hour ago."""
BACKGROUND = 24_000
"""Arrivals of many items many hours ago, so that the day is not counted exactly."""


def events(counts, since, until, rng):
    items = np.repeat(list(counts), list(counts.values()))
    rng.shuffle(items)
    return list(items), np.sort(rng.integers(since + 1, until + 1, len(items)))


def known_sketches(config=CONFIG, now=NOW):
    """One sketch for each site."""
    rng = np.random.default_rng(7)
    sketches = {}
    for site in LATELY:
        sketch = ecm.EcmSketch(config)
        usual = {f"/page/{number}": BACKGROUND // 400 for number in range(200)}
        sketch.update_many(*events(usual, now - 80_000, now - 20_000, rng))
        sketch.update_many(*events(EARLIER[site], now - 1900, now - 1700, rng))
        sketch.update_many(*events(LATELY[site], now - 290, now - 1, rng))
        sketch.advance(now)
        sketches[site] = sketch
    return sketches


def write(path, sketches):
    """Add segments to a store, or make it."""
    SketchStore(path).append([SketchRow(site, sketch) for site, sketch in sketches.items()])


def write_more(path, site, item, count, tick=NOW + 10):
    """Add arrivals of one item to a site."""
    sketch = ecm.EcmSketch(CONFIG)
    sketch.update_many([item] * count, [tick] * count)
    write(path, {site: sketch})


def exact_top(counts, k):
    """The most frequent items over some sites, with their counts."""
    total: dict[str, int] = {}
    for site in counts.values():
        for item, count in site.items():
            total[item] = total.get(item, 0) + count
    return sorted(total.items(), key=lambda pair: -pair[1])[:k]
