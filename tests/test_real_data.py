"""Real streams, where shared/data is: web requests, flights, cache requests."""

from __future__ import annotations

import csv
import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ecmsketch as ecm
from ecmsketch.hashing import hash_items


def twitter(folder):
    table = pq.read_table(folder / "twitter" / "cluster52-1m.parquet")
    return table["item"], table["ts"].to_numpy().astype(np.int64), 300


def flights(folder):
    table = pq.read_table(folder / "flights" / "flights-3m.parquet", columns=["date", "destination"])
    minutes = table["date"].to_numpy().astype("datetime64[m]").astype(np.int64)
    order = np.argsort(minutes, kind="stable")
    return table["destination"].take(pa.array(order)), minutes[order], 30 * 24 * 60


def worldcup(folder):
    with gzip.open(folder / "wc98" / "day6_sample.csv.gz", "rt") as lines:
        rows = list(csv.DictReader(lines))
    return pa.array([row["url"] for row in rows]), np.array([int(row["epoch"]) for row in rows]), 6 * 3600


@pytest.mark.parametrize("source", [twitter, flights, worldcup])
@pytest.mark.parametrize(("counter", "epsilon"), [("eh", 0.1), ("eh", 0.01), ("eh", 0.001), ("dw", 0.1), ("dw", 0.01)])
def test_real_streams_stay_within_their_bounds(shared_data, source, counter, epsilon):
    items, ticks, window = source(shared_data)
    config = ecm.SketchConfig(epsilon=epsilon, delta=0.01, window=window, counter=counter)
    sketch = ecm.EcmSketch(config)
    sketch.update_many(items, ticks)
    hashes = hash_items(items)
    for last in (window // 50, window // 5, window):
        names, counts = np.unique(hashes[ticks > ticks[-1] - last], return_counts=True)
        answers = sketch.estimate_many(names, last=last)
        assert (answers.upper >= counts).all()
        assert (answers.value >= counts * (1 - config.epsilon_sw) - 1e-9).all()
        assert (answers.lower > counts).mean() <= config.delta
        assert (np.abs(answers.value - counts) > epsilon * counts.sum()).mean() <= config.delta
        assert sketch.total(last=last).covers(counts.sum())
        assert sketch.self_join(last=last).covers((counts.astype(float) ** 2).sum())
        if epsilon <= 0.01:
            heaviest = np.argsort(-counts)[:10]
            relative = np.abs(answers.value[heaviest] - counts[heaviest]) / counts[heaviest]
            assert relative.max() <= epsilon * counts.sum() / counts[heaviest[-1]]


@pytest.mark.parametrize("source", [twitter, flights, worldcup])
def test_randomized_waves_on_real_streams(shared_data, source):
    items, ticks, window = source(shared_data)
    config = ecm.SketchConfig(epsilon=0.1, delta=0.05, window=window, counter="rw")
    sketch = ecm.EcmSketch(config, site="here")
    sketch.update_many(items, ticks)
    hashes = hash_items(items)
    for last in (window // 50, window):
        names, counts = np.unique(hashes[ticks > ticks[-1] - last], return_counts=True)
        answers = sketch.estimate_many(names, last=last)
        assert ((answers.lower > counts) | (answers.upper < counts)).mean() <= config.delta
        assert (np.abs(answers.value - counts) > 0.1 * counts.sum()).mean() <= config.delta
        assert sketch.total(last=last).covers(counts.sum())


def test_flights_by_origin_merge_into_all_flights(shared_data):
    table = pq.read_table(shared_data / "flights" / "flights-3m.parquet")
    days = table["date"].to_numpy().astype("datetime64[D]").astype(np.int64)
    order = np.argsort(days, kind="stable")
    days = days[order]
    origins = np.asarray(table["origin"].take(pa.array(order)).to_pylist())
    destinations = hash_items(table["destination"].take(pa.array(order)))
    config = ecm.SketchConfig(epsilon=0.05, delta=0.01, window=90, unit="D", merge_depth=1)
    airports = np.unique(origins)[:100]
    sites = []
    for airport in airports:
        site = ecm.EcmSketch(config)
        site.update_many(destinations[origins == airport], days[origins == airport])
        sites.append(site)
    merged = ecm.merge(sites)
    known = np.isin(origins, airports)
    for last in (7, 30, 90):
        inside = known & (days > merged.now - last)
        names, counts = np.unique(destinations[inside], return_counts=True)
        answers = merged.estimate_many(names, last=last)
        assert (answers.upper >= counts).all()
        assert (np.abs(answers.value - counts) > config.epsilon * counts.sum()).mean() <= config.delta
