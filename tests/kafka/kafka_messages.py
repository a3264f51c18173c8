"""Events of three sites, and the messages that stand for them in every format."""

from __future__ import annotations

import csv
import io
import json

import numpy as np

import ecmsketch as ecm

SITES = ("athens", "berlin", "cairo")
FIRST = 898_000_000
CONFIG = {"epsilon": 0.05, "delta": 0.05, "window": 20_000, "unit": "s", "late": "side", "lateness": 600}
SCHEMA = {
    "type": "record",
    "name": "request",
    "fields": [
        {"name": "url", "type": ["null", "string"]},
        {"name": "server", "type": "string"},
        {"name": "ts", "type": "long"},
    ],
}
ID = 42
"""The id of the schema in a registry."""


def events(count, seed=0, first=FIRST):
    """Events in order of time: (url, server, tick)."""
    rng = np.random.default_rng(seed)
    pages, sites = rng.zipf(1.3, count) % 200, rng.integers(0, 3, count)
    ticks = first + np.sort(rng.integers(0, 10_000, count))
    return [(f"/page/{n}, “{n}”", SITES[s], int(t)) for n, s, t in zip(pages, sites, ticks, strict=True)]


def one_process(given, config=CONFIG):
    """The sketch of each site, as one process builds it."""
    sketches = {}
    for site in SITES:
        mine = [event for event in given if event[1] == site]
        sketches[site] = ecm.EcmSketch(ecm.SketchConfig(**config))
        sketches[site].update_many([event[0] for event in mine], [event[2] for event in mine])
    return sketches


def assert_same(found, expected):
    """The same sketches, byte for byte, once all clocks are at the same tick: others move the clock of an idle site."""
    assert sorted(found) == sorted(expected)
    for site, sketch in expected.items():
        now = max(found[site].now, sketch.now)
        found[site].advance(now)
        sketch.advance(now)
        assert found[site].serialize() == sketch.serialize()


def as_json(url, server, tick):
    return json.dumps({"url": url, "server": server, "ts": tick, "more": [1]}).encode()


def as_csv(url, server, tick):
    line = io.StringIO()
    csv.writer(line).writerow([tick, url, server])
    return line.getvalue().encode()


def as_avro(url, server, tick):
    return number(1) + text(url) + text(server) + number(tick)


def as_confluent(url, server, tick):
    return b"\0" + ID.to_bytes(4, "big") + as_avro(url, server, tick)


def number(value):
    """A long of Avro: zigzag, then seven bits a byte."""
    value, out = (value << 1) ^ (value >> 63), b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def text(value):
    return number(len(value.encode())) + value.encode()


def keyed(given, encode):
    """Messages with the site as their key."""
    return [(event[1], encode(*event)) for event in given]
