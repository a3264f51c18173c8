"""Heavy hitters by name: what is surely found, what is not reported, whatever the stream, the cuts and the merges."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.errors import ConfigError, FormatError, MergeError, QueryError
from ecmsketch.inputs.items import hash_items
from oracles import ExactWindow
from streams import cuts, streams, ticks_of, zipf_items

WINDOW = 1000


def make(**changes):
    return ecm.SketchConfig(**{"epsilon": 0.1, "delta": 0.05, "window": WINDOW, "heavy_hitters": True, **changes})


@given(stream=streams(WINDOW, most=9000), pieces=st.integers(1, 30), seed=st.integers(0, 2**32))
def test_the_state_does_not_depend_on_how_batches_are_cut(stream, pieces, seed):
    rng = np.random.default_rng(seed)
    items = zipf_items(len(stream.ticks), 200, rng)
    whole, cut = ecm.EcmSketch(make()), ecm.EcmSketch(make())
    whole.update_many(items, stream.ticks, stream.weights)
    for part in cuts(len(items), pieces, rng):
        cut.update_many(items[part], stream.ticks[part], None if stream.weights is None else stream.weights[part])
        if rng.random() < 0.3:
            cut = ecm.EcmSketch.deserialize(cut.serialize())
    assert whole.serialize() == cut.serialize()


@pytest.mark.parametrize("counter", ["eh", "dw", "rw", "slices"])
def test_all_that_is_heavy_is_found_and_little_else(counter):
    """60 trials. Whatever came phi/(1 - epsilon_sw) is always found (rw: but for delta); something below phi - epsilon
    is reported in a share of delta of the trials at most, plus three standard deviations."""
    trials, wrong, missed, delta, epsilon, phi = 60, 0, 0, 0.1, 0.04, 0.06
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        ticks = ticks_of(("bursts", "steady", "crowded")[trial % 3], 6000, WINDOW, rng)
        items = np.array([f"/page/{n}" for n in range(400)])[zipf_items(6000, 400, rng, 1.0)]
        config = make(epsilon=epsilon, delta=delta, seed=trial, counter=counter)
        sketch = ecm.EcmSketch(config, site="here")
        sketch.update_many(items, ticks)
        last = (100, 500, WINDOW)[trial % 3]
        names, counts = np.unique(items[ticks > ticks[-1] - last], return_counts=True)
        found = sketch.heavy_hitters(phi, last=last)
        reported = {hitter.item for hitter in found}
        sure = set(names[counts * (1 - config.epsilon_sw) >= phi * counts.sum()].tolist())
        missed += not sure <= reported
        wrong += bool(reported & set(names[counts < (phi - epsilon) * counts.sum()].tolist()))
        exact = dict(zip(names.tolist(), counts.tolist(), strict=True))
        if counter != "rw":
            assert set(names[counts >= phi * counts.sum()].tolist()) <= {
                hitter.item for hitter in sketch.heavy_hitters(phi, last=last, no_miss=True)
            }
            assert all(hitter.estimate.upper >= exact.get(hitter.item, 0) for hitter in found)
        assert all(a.estimate.value >= b.estimate.value for a, b in pairwise(found))
    assert missed == 0 if counter != "rw" else missed <= trials * delta
    assert wrong <= trials * delta + 3 * np.sqrt(trials * delta * (1 - delta))


@pytest.mark.parametrize("sites", [2, 7, 64])
@pytest.mark.parametrize("counter", ["eh", "dw", "rw", "slices"])
def test_merged_sites_give_the_names_of_all(sites, counter):
    rng = np.random.default_rng(sites)
    config = make(epsilon=0.05, merge_depth=1, counter=counter)
    ticks, items = ticks_of("steady", 30_000, WINDOW, rng), zipf_items(30_000, 2000, rng, 1.2)
    parts = [ecm.EcmSketch(config, site=str(site)) for site in range(sites)]
    for i, part in enumerate(parts):
        part.update_many([f"host-{n}" for n in items[i::sites]], ticks[i::sites])
    merged = ecm.merge(ecm.EcmSketch.deserialize(part.serialize()) for part in parts)
    for last in (100, WINDOW):
        names, counts = np.unique(items[ticks > ticks[-1] - last], return_counts=True)
        found = [hitter.item for hitter in merged.heavy_hitters(0.08, last=last, no_miss=True)]
        assert {f"host-{n}" for n in names[counts >= 0.08 * counts.sum()]} <= set(found)
        light = {f"host-{n}" for n in names[counts < (0.08 - 2 * config.epsilon_sw - 0.05) * counts.sum()]}
        assert not light & set(found)
    assert merged.top(1)[0].item == "host-0"
    merged.update("host-5", merged.now)


def test_segments_keep_their_names():
    rng = np.random.default_rng(1)
    for model in ("time", "count"):
        config = make(epsilon=0.05, model=model)
        ticks, items = ticks_of("steady", 20_000, WINDOW, rng), zipf_items(20_000, 1000, rng, 1.2)
        segments = []
        for part in cuts(20_000, 6, rng):
            segment = ecm.EcmSketch(config)
            segment.update_many(items[part], ticks[part] if model == "time" else None)
            segments.append(segment)
        joined = ecm.concat(segments)
        numbers = ticks if model == "time" else np.arange(1, 20_001)
        for last in (50, WINDOW):
            names, counts = np.unique(items[numbers > numbers[-1] - last], return_counts=True)
            found = {hitter.item for hitter in joined.heavy_hitters(0.06, last=last, no_miss=True)}
            assert set(names[counts >= 0.06 * counts.sum()].tolist()) <= found
        assert ecm.EcmSketch.deserialize(joined.serialize()) == joined


def test_late_arrivals_are_found_too():
    config = make(late="side", lateness=200)
    sketch = ecm.EcmSketch(config)
    exact = ExactWindow()
    rng = np.random.default_rng(2)
    for step in range(40):
        ticks = 50 * step + rng.integers(-120, 50, 300)
        kept = ticks > (-(10**9) if step == 0 else sketch.now - 200)
        items = np.where(ticks % 3 == 0, "late and heavy", np.array([f"light {n}" for n in rng.integers(0, 500, 300)]))
        exact.add(items[kept], ticks[kept])
        sketch.update_many(items, ticks)
        sketch = ecm.EcmSketch.deserialize(sketch.serialize())
    for last in (60, 300, WINDOW):
        counts = exact.frequencies(sketch.now - last)
        found = sketch.heavy_hitters(0.2, last=last, no_miss=True)
        assert [hitter.item for hitter in found] == ["late and heavy"]
        assert found[0].estimate.covers(counts["late and heavy"])
    assert ecm.merge([sketch, ecm.EcmSketch(config)]).top(1)[0].item == "late and heavy"


class TestNames:
    ITEMS = ("text", "ünï", "", b"\xff\x00", 7, 2**64 - 3, -5, ("10.0.0.1", 443), (b"x", -1, "y"))

    @pytest.mark.parametrize("item", ITEMS)
    def test_any_item_comes_back_as_itself(self, item):
        for feed in (
            lambda sketch: sketch.update(item, 5),
            lambda sketch: sketch.update_many([item], [5]),
            lambda sketch: [sketch.update(item, 5) for _ in range(3000)],
        ):
            sketch = ecm.EcmSketch(make())
            feed(sketch)
            for copy in (sketch, sketch.copy(), ecm.EcmSketch.deserialize(sketch.serialize())):
                (hitter,) = copy.heavy_hitters(0.5)
                assert hitter.item == item
                assert type(hitter.item) is type(item)
                assert hitter.estimate == copy.estimate(item)

    def test_columns_of_every_kind(self):
        hosts, ports = ["a", "b", "a", "c"], [80, 443, 80, 22]
        columns = {"host": hosts, "port": ports}
        import pandas as pd

        expected = hash_items(list(zip(hosts, ports, strict=True)))
        for items in (
            columns,
            {"host": np.array(hosts), "port": np.array(ports)},
            {"host": pa.array(hosts).dictionary_encode(), "port": pa.chunked_array([ports[:1], ports[1:]])},
            pd.DataFrame(columns),
            pa.table(columns),
            pa.RecordBatch.from_pydict(columns),
            pa.StructArray.from_arrays([pa.array(hosts), pa.array(ports)], ["host", "port"]),
            list(zip(hosts, ports, strict=True)),
        ):
            assert (hash_items(items) == expected).all()
            sketch = ecm.EcmSketch(make())
            sketch.update_many(items, range(4))
            assert sketch.top(1)[0].item == ("a", 80)
        for items in (
            pa.array(hosts),
            pa.array(hosts).dictionary_encode(),
            pd.Series(hosts),
            iter(hosts),
            np.array(hosts),
        ):
            sketch = ecm.EcmSketch(make())
            sketch.update_many(items, range(4))
            assert sketch.top(2)[0].item == "a"

    def test_a_key_that_comes_back_has_its_name_again(self):
        sketch = ecm.EcmSketch(make(window=100))
        rng = np.random.default_rng(0)
        for day in range(30):
            sketch.update_many([f"noise {n}" for n in rng.integers(0, 10**6, 3000)], 1000 * day + np.arange(3000) // 30)
            sketch.update_many(["again"] * 2000, [1000 * day + 100] * 2000)
            assert sketch.top(1, last=50)[0].item == "again"
        assert len(sketch._state().names) < 10_000


def test_last_arrivals():
    for model in ("time", "count"):
        sketch = ecm.EcmSketch(make(epsilon=0.02, model=model))
        items = ["old"] * 600 + ["new"] * 300
        sketch.update_many(items, np.arange(900) if model == "time" else None)
        assert [hitter.item for hitter in sketch.heavy_hitters(0.9, last_arrivals=250)] == ["new"]
        (new, old) = sketch.heavy_hitters(0.3, last_arrivals=450)
        assert (new.item, old.item) == ("new", "old")
        assert new.estimate.covers(300)
        assert old.estimate.covers(150)
        assert sketch.top(1, last_arrivals=900)[0].item == "old"


class TestRefusals:
    def test_questions(self):
        plain = ecm.EcmSketch(make(heavy_hitters=False))
        with pytest.raises(QueryError, match="heavy_hitters=True"):
            plain.heavy_hitters(0.1)
        with pytest.raises(QueryError, match="heavy_hitters=True"):
            plain.top(3)
        sketch = ecm.EcmSketch(make())
        assert sketch.heavy_hitters(0.1) == []
        assert sketch.top(3) == []
        for wrong in (
            {},
            {"phi": 0.1, "count": 5},
            {"phi": 0},
            {"phi": 1.5},
            {"phi": "x"},
            {"count": 0},
            {"count": "a"},
        ):
            with pytest.raises(QueryError, match="heavy_hitters"):
                sketch.heavy_hitters(**wrong)
        for k in (0, -1, 1.5, True):
            with pytest.raises(QueryError, match="number of items"):
                sketch.top(k)
        sketch.update_many(np.random.default_rng(0).integers(0, 10**6, 20_000), np.arange(20_000) // 30)
        with pytest.raises(QueryError, match="may be missing"):
            sketch.heavy_hitters(0.001)
        assert sketch.heavy_hitters(0.1) == []

    def test_mixing(self):
        with pytest.raises(MergeError, match="heavy_hitters is True in one and False"):
            ecm.merge([ecm.EcmSketch(make()), ecm.EcmSketch(make(heavy_hitters=False))])
        with pytest.raises(ConfigError, match="PrefixSketch finds them by itself"):
            ecm.PrefixSketch(make())
        with pytest.raises(ConfigError, match="True or False"):
            make(heavy_hitters="yes")

    def test_bytes_that_are_cut_or_changed(self):
        from xxhash import xxh64_intdigest

        sketch = ecm.EcmSketch(make(epsilon=0.3))
        sketch.update_many([f"/page/{n % 50}" for n in range(3000)], np.arange(3000) // 3)
        good = sketch.serialize()
        rng = np.random.default_rng(0)
        refused = 0
        for _ in range(400):
            body = bytearray(good[:-8])
            at = int(rng.integers(len(body) // 3, len(body)))
            if rng.random() < 0.7:
                body[at] = int(rng.integers(256))
            else:
                del body[at : at + int(rng.integers(1, 20))]
            data = bytes(body) + xxh64_intdigest(bytes(body), 0).to_bytes(8, "little")
            try:
                found = ecm.EcmSketch.deserialize(data)
            except FormatError:
                refused += 1
                continue
            found.top(5)
            found.update_many(["a"] * 2000, [found.now] * 2000)
            assert ecm.EcmSketch.deserialize(found.serialize()) == found
        assert refused > 100


class TestAfterJoining:
    @given(data=st.data(), seed=st.integers(0, 2**32))
    def test_bounds_hold_and_bytes_are_read_however_pieces_were_joined_and_fed(self, data, seed):
        rng = np.random.default_rng(seed)
        model = data.draw(st.sampled_from(["time", "count"]))
        config = make(model=model, merge_depth=2, window=20_000)
        exact, now = ExactWindow(), 0
        sketch = ecm.EcmSketch(config)
        for _ in range(data.draw(st.integers(2, 8))):
            events = int(rng.integers(1, 2500))
            items = [f"item {n}" for n in zipf_items(events, 200, rng, 1.3)]
            weights = rng.choice([1, 1, 1, 5, 300], events) if rng.random() < 0.4 else np.ones(events, np.int64)
            how = data.draw(st.sampled_from(["feed", "concat", "merge"] if model == "time" else ["feed", "concat"]))
            begin = now - int(rng.integers(0, 2000)) if how == "merge" else now
            ticks = begin + np.sort(rng.integers(0, 3000, events)) if model == "time" else None
            piece = ecm.EcmSketch(config)
            (sketch if how == "feed" else piece).update_many(items, ticks, weights)
            if how != "feed":
                sketch = {"concat": ecm.concat, "merge": ecm.merge}[how]([sketch, piece])
            if model == "time":
                exact.add(items, ticks, weights)
            else:
                units = np.repeat(np.arange(events), weights)
                exact.add([items[i] for i in units], sketch.now - len(units) + 1 + np.arange(len(units)))
            now = sketch.now
            assert ecm.EcmSketch.deserialize(sketch.serialize()) == sketch
            last = sketch._state().frequent.summaries.last
            assert (np.diff(last) >= 0).all()
        for since in (now - 100, now - 3000, now - 20_000):
            counts = exact.frequencies(since)
            total = sum(counts.values())
            found = {hitter.item: hitter.estimate for hitter in sketch.top(1000, last=now - since)}
            for item, estimate in found.items():
                assert estimate.upper >= counts.get(item, 0)
            if total:
                heavy = {h.item for h in sketch.heavy_hitters(0.15, last=now - since, no_miss=True)}
                assert {item for item, count in counts.items() if count >= 0.15 * total} <= heavy

    def test_names_of_no_use_are_forgotten(self):
        config = make(window=10**9)
        sketch = ecm.EcmSketch(config)
        for i in range(200):
            piece = ecm.EcmSketch(config)
            piece.update_many([f"{i} {n}" for n in range(50)], [100 * i + n for n in range(50)])
            sketch = ecm.concat([sketch, piece])
        assert len(sketch._state().names) < 2000


def test_old_intervals_miss_nothing_when_asked_not_to():
    rng = np.random.default_rng(3)
    for trial in range(20):
        sites = [ecm.EcmSketch(make(epsilon=0.05, merge_depth=1)) for _ in range(3)]
        ticks, items = ticks_of("bursts", 6000, WINDOW, rng), zipf_items(6000, 100, rng, 1.3)
        for i, site in enumerate(sites):
            site.update_many(items[i::3], ticks[i::3])
        merged = ecm.merge(sites)
        since, until = sorted(rng.integers(merged.now - WINDOW, merged.now, 2).tolist())
        names, counts = np.unique(items[(ticks > since) & (ticks <= until)], return_counts=True)
        try:
            found = {hitter.item for hitter in merged.heavy_hitters(0.3, between=(since, until), no_miss=True)}
        except QueryError:
            continue
        assert set(names[counts >= 0.3 * counts.sum()].tolist()) <= found, trial


def test_wrong_columns_are_refused_before_anything_is_counted():
    from ecmsketch.errors import InputError

    sketch = ecm.EcmSketch(make())
    for items in ({"a": {5: "k"}, "b": ["v"]}, {"a": {"x"}, "b": ["p"]}, {"a": "x", "b": ["p"]}, 5, None, {"a": ["x"]}):
        with pytest.raises(InputError, match="items"):
            sketch.update_many(items, [1])
    assert sketch.is_empty
    sketch.update("a", -(2**61))
    assert sketch.heavy_hitters(0.5)[0].item == "a"


def test_small_updates_do_not_look_through_all_names():
    import time

    rng = np.random.default_rng(0)
    seconds = []
    for heavy_hitters in (False, True):
        sketch = ecm.EcmSketch(make(epsilon=0.002, window=10**6, heavy_hitters=heavy_hitters))
        sketch.update_many([f"item {n}" for n in rng.zipf(1.2, 50_000) % 5000], np.arange(50_000))
        begin = time.perf_counter()
        for _ in range(200):
            sketch.update_many(["a", "b"], [60_000, 60_000])
        seconds.append(time.perf_counter() - begin)
    assert seconds[1] < 10 * seconds[0] + 0.5
