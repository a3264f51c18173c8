"""Real streams, where shared/data is: web requests, flights, cache requests."""

from __future__ import annotations

import csv
import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ecmsketch as ecm
from ecmsketch.inputs.items import hash_items
from ecmsketch.inputs.kinds import Hashed


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
        answers = sketch.estimate_many(Hashed(names, "t"), last=last)
        assert (answers.upper >= counts).all()
        taken = (1 + config.epsilon_sw) * (counts.sum() - counts) / config.width  # at most, for collisions
        assert (answers.value >= counts * (1 - config.epsilon_sw) - taken - 1e-9).all()
        allowed = 1 - config.confidence
        assert (answers.lower > counts).mean() <= allowed + 3 * np.sqrt(allowed / len(counts))
        assert (np.abs(answers.value - counts) > epsilon * counts.sum()).mean() <= config.delta
        assert sketch.total(last=last).covers(counts.sum())
        assert sketch.self_join(last=last).covers((counts.astype(float) ** 2).sum())
        assert sketch.self_join(last=last, confidence=1).covers((counts.astype(float) ** 2).sum())
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
        answers = sketch.estimate_many(Hashed(names, "t"), last=last)
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


@pytest.mark.parametrize("source", [twitter, flights, worldcup])
@pytest.mark.parametrize("counter", ["eh", "dw", "rw", "slices"])
def test_named_heavy_hitters_of_real_streams(shared_data, source, counter):
    items, ticks, window = source(shared_data)
    epsilon, phi = (0.05, 0.08) if counter == "rw" else (0.01, 0.015)
    config = ecm.SketchConfig(epsilon=epsilon, delta=0.01, window=window, counter=counter, heavy_hitters=True)
    sketch = ecm.EcmSketch(config, site="here")
    half = len(ticks) // 2
    sketch.update_many(items[:half], ticks[:half])
    sketch.update_many(items[half:], ticks[half:])
    names = np.asarray(items.to_pylist())
    now = int(ticks[-1])
    ranges = [(now - last, now) for last in (window // 50, window // 5, window)]
    ranges.append((now - window // 2, now - window // 4))
    for since, until in ranges:
        inside = (ticks > since) & (ticks <= until)
        found_names, counts = np.unique(names[inside], return_counts=True)
        exact = dict(zip(found_names.tolist(), counts.tolist(), strict=True))
        if until < now and counter == "rw":
            continue  # an interval's error is relative to all that came after it, which this epsilon cannot tell
        found = sketch.heavy_hitters(phi, between=(since, until), no_miss=True)
        reported = {hitter.item for hitter in found}
        assert {name for name, count in exact.items() if count >= phi * counts.sum()} <= reported
        if until == now:
            least = (phi * (1 - config.epsilon_sw) - epsilon) * counts.sum()
            assert least > 0
            assert not {name for name, count in exact.items() if count < least} & reported
        outside = sum(not hitter.estimate.covers(exact.get(hitter.item, 0)) for hitter in found)
        assert outside <= max(0.01 * len(found), 1 if counter == "rw" else 0)
        best = max(exact.values())
        assert exact[sketch.top(1, between=(since, until))[0].item] >= best - epsilon * (ticks > since).sum()


@pytest.mark.parametrize("radix", [2, 4, 16, 256])
@pytest.mark.parametrize("counter", ["eh", "dw", "slices"])
def test_windowed_percentiles_of_real_delays(shared_data, radix, counter):
    table = pq.read_table(shared_data / "flights" / "flights-3m.parquet", columns=["date", "delay"]).slice(0, 600_000)
    minutes = table["date"].to_numpy().astype("datetime64[m]").astype(np.int64)
    order = np.argsort(minutes, kind="stable")
    minutes, delays = minutes[order], table["delay"].to_numpy()[order].astype(np.int64) + 2048
    config = ecm.SketchConfig(epsilon=0.02, delta=0.05, window=7 * 24 * 60, counter=counter)
    sites = [ecm.PrefixSketch(config.replace(merge_depth=1), bits=13, radix=radix) for _ in range(3)]
    sketch = ecm.PrefixSketch(config, bits=13, radix=radix)
    sketch.update_many(delays, minutes)
    for i, site in enumerate(sites):
        site.update_many(delays[i::3], minutes[i::3])
    for answering in (sketch, ecm.merge(sites)):
        now = answering.now
        for since, until in ((now - 24 * 60, now), (now - 7 * 24 * 60, now), (now - 3 * 24 * 60, now - 24 * 60)):
            inside = np.sort(delays[(minutes > since) & (minutes <= until)])
            for q in (0.05, 0.5, 0.95, 0.99):
                found = answering.quantile(q, between=(since, until))
                assert found.covers(inside[max(int(np.ceil(q * len(inside))) - 1, 0)])
            assert answering.rank(2048, between=(since, until)).covers((inside <= 2048).sum())
            assert answering.range_sum(2048 + 15, 2048 + 60, between=(since, until)).covers(
                ((inside >= 2048 + 15) & (inside <= 2048 + 60)).sum()
            )


def test_named_heavy_hitters_of_many_airports(shared_data):
    table = pq.read_table(shared_data / "flights" / "flights-3m.parquet")
    days = table["date"].to_numpy().astype("datetime64[D]").astype(np.int64)
    order = np.argsort(days, kind="stable")
    days = days[order]
    origins = np.asarray(table["origin"].take(pa.array(order)).to_pylist())
    destinations = np.asarray(table["destination"].take(pa.array(order)).to_pylist())
    config = ecm.SketchConfig(epsilon=0.02, delta=0.01, window=90, unit="D", merge_depth=1, heavy_hitters=True)
    airports = np.unique(origins)[:64]
    sites = []
    for airport in airports:
        site = ecm.EcmSketch(config)
        site.update_many(destinations[origins == airport], days[origins == airport])
        sites.append(site)
    merged = ecm.merge(sites)
    known = np.isin(origins, airports)
    for last in (7, 30, 90):
        names, counts = np.unique(destinations[known & (days > merged.now - last)], return_counts=True)
        found = merged.heavy_hitters(0.025, last=last, no_miss=True)
        reported = {hitter.item for hitter in found}
        assert set(names[counts >= 0.025 * counts.sum()].tolist()) <= reported
        assert not set(names[counts < 0.005 * counts.sum()].tolist()) & reported
