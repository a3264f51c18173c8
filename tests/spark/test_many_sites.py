"""Many small sites: the sketches that one process would make, in bounded memory, however the events are cut."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch import spark as ecm_spark
from ecmsketch.spark import partial_rows, partials, sent_events
from ecmsketch.spark.cleaning import Events
from ecmsketch.spark.partial_rows import to_batches
from ecmsketch.spark.partials import PartialSketches
from ecmsketch.spark.recipe import Recipe
from ecmsketch.spark.sent_events import Layout
from ecmsketch.spark.site_uniting import unite_rows, whole_sites

CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000)


def batches_of(tasks, recipe, layout):
    """What the tasks send: each has a list of events."""
    for task, given_events in enumerate(tasks):
        making = PartialSketches(recipe, task, layout)
        parts = (
            part
            for events in [*given_events, None]
            for part in (making.finish() if events is None else making.add(events))
        )
        yield from to_batches(parts, layout)


def build(tasks, recipe, layout, rows=7):
    """The sketches of all sites, as the second stage makes them of batches of a few rows."""
    sent = list(batches_of(tasks, recipe, layout))
    if not sent:
        return {}
    table = pa.Table.from_batches(sent).sort_by([(name, "ascending") for name in ("site", "part", "chunk")])
    cut = table.combine_chunks().to_batches(max_chunksize=rows)
    return {row["site"]: row for batch in unite_rows(iter(cut), recipe, layout) for row in batch.to_pylist()}


def cut(columns, pieces, tasks):
    """Columns cut into batches, dealt out to tasks in order."""
    count = len(columns["tick"])
    bounds = np.linspace(0, count, pieces + 1).astype(int)
    events = [
        Events(
            *(
                None if columns.get(name) is None else pa.array(columns[name][a:b])
                for name in ("item", "tick", "site", "weight")
            )
        )
        for a, b in pairwise(bounds)
    ]
    return [events[i * pieces // tasks : (i + 1) * pieces // tasks] for i in range(tasks)]


def expected(columns, site, recipe, name=""):
    mine = columns["site"] == site
    order = np.argsort(columns["tick"][mine], kind="stable")
    sketch = recipe.new(name)
    weights = columns.get("weight")
    sketch.update_many(
        recipe.items(columns["item"][mine][order]),
        columns["tick"][mine][order],
        None if weights is None else weights[mine][order],
    )
    return sketch.serialize()


RECIPES = [
    (Recipe(CONFIG), "bigint"),
    (Recipe(CONFIG, kind="t"), "bigint"),
    (Recipe(CONFIG.replace(counter="eh")), "bigint"),
    (Recipe(CONFIG.replace(counter="rw", epsilon=0.3)), "bigint"),
    (Recipe(CONFIG.replace(heavy_hitters=True)), "string"),
    (Recipe(CONFIG, bits=10, radix=4), "bigint"),
]


@settings(max_examples=15)
@given(st.data())
@pytest.mark.parametrize(("recipe", "kind"), RECIPES)
def test_small_sites_are_those_of_one_process(recipe, kind, data):
    count, sites = data.draw(st.integers(1, 300)), data.draw(st.integers(1, 40))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    columns = {
        "site": rng.integers(0, sites, count),
        "tick": rng.integers(0, data.draw(st.sampled_from([10, 3000, 2**40])), count),
        "item": rng.integers(0, 1000, count),
    }
    if kind == "string":
        columns["item"] = np.array([f"/é/{i}" * (i % 3) for i in columns["item"]], object)
    if data.draw(st.booleans()):
        columns["weight"] = rng.integers(0, 4, count)
    layout = Layout((kind,), False, "weight" in columns)
    found = build(cut(columns, 6, data.draw(st.integers(1, 3))), recipe, layout, data.draw(st.integers(1, 50)))
    assert set(found) == set(columns["site"].tolist())
    for site, row in found.items():
        if recipe.config.counter != "rw":
            assert row["sketch"] == expected(columns, site, recipe)
        assert row["events"] == (columns["site"] == site).sum()
        sketch = ecm.load(row["sketch"])
        assert (row["first_tick"], row["last_tick"]) == (sketch.first_tick, sketch.now)
        assert row["reasons"] == []


def test_huge_sites_among_small_ones(monkeypatch):
    """A site that grows is sketched with all its events from the first on; the others are sent as events."""
    monkeypatch.setattr(partials, "GATHERED", 3000)
    rng = np.random.default_rng(0)
    count = 12_000
    site = np.where(rng.random(count) < 0.5, 0, rng.integers(1, 100, count))
    site[:500] = np.arange(500) % 99 + 1  # the large one comes late
    columns = {"site": site, "tick": np.sort(rng.integers(0, 5000, count)), "item": rng.integers(0, 99, count)}
    columns["site"] = np.array([f"s{i}" for i in site])
    for recipe in (Recipe(CONFIG), Recipe(CONFIG.replace(counter="eh"))):
        found = build(cut(columns, 40, 1), recipe, Layout(("bigint",), True, False), 100)
        assert len(found) == 100
        for name, row in found.items():
            assert row["sketch"] == expected(columns, name, recipe), name


def test_events_are_handed_on_before_they_are_too_many(monkeypatch):
    monkeypatch.setattr(partials, "GATHERED", 500)
    monkeypatch.setattr(sent_events, "_BLOCK", 100)
    rng = np.random.default_rng(0)
    columns = {
        "site": rng.integers(0, 300, 3000),
        "tick": rng.integers(0, 5000, 3000),
        "item": rng.integers(0, 99, 3000),
    }
    recipe, layout = Recipe(CONFIG), Layout(("bigint",), False, False)
    sent = list(batches_of(cut(columns, 30, 2), recipe, layout))
    assert len(sent) > 20
    assert max(batch.column("events").to_numpy().sum() for batch in sent) <= 200
    found = build(cut(columns, 30, 2), recipe, layout)
    for site, row in found.items():
        assert row["sketch"] == expected(columns, site, recipe)


def test_sketches_are_counted_while_sites_are_fed(monkeypatch):
    """Sites of 2,000 events at epsilon 0.01: memory is looked at after each, not after all of them."""
    monkeypatch.setattr(partials, "HELD_BYTES", 2**20)
    rng = np.random.default_rng(0)
    for counter in ("slices", "eh"):
        recipe = Recipe(ecm.SketchConfig(epsilon=0.01, delta=0.01, window=10**6, counter=counter))
        making = PartialSketches(recipe, 0, Layout(("bigint",), False, False))
        events = Events(
            *(pa.array(c) for c in (rng.integers(0, 99, 400_000), np.arange(400_000), np.arange(400_000) % 200))
        )
        list(making.add(events))
        held = [making.nbytes for _ in making.finish()]
        assert max(held) < 2**20 + 2**19
        assert making.nbytes == 0


def test_a_small_site_takes_little_memory_of_a_worker():
    """50 events of each of 4,000 sites: at most 3 KB a site at any time, in both stages."""
    count, sites = 200_000, 4_000
    rng = np.random.default_rng(0)
    columns = {"site": rng.integers(0, sites, count), "tick": np.arange(count), "item": rng.integers(0, 99, count)}
    recipe, layout = Recipe(CONFIG), Layout(("bigint",), False, False)
    work = cut(columns, 10, 1)
    list(batches_of(cut({name: column[:1000] for name, column in columns.items()}, 1, 1), recipe, layout))
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        sent = list(batches_of(work, recipe, layout))
        first = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        for batch in unite_rows(iter(sent), recipe, layout):
            assert batch.num_rows
        second = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (max(first, second) + pa.total_allocated_bytes() - before) / sites < 3000


@given(
    st.lists(st.tuples(st.sampled_from([None, "", "a", "b", "é"]), st.integers(1, 5)), max_size=8), st.integers(1, 6)
)
def test_batches_hold_whole_sites(runs, size):
    sites = [site for site, count in runs for _ in range(count)]
    batch = pa.RecordBatch.from_arrays(
        [pa.array(sites, pa.string()), pa.array(range(len(sites)), pa.int64())], names=["site", "n"]
    )
    given_batches = [batch.slice(i, size) for i in range(0, len(sites), size)]
    found = list(whole_sites(iter(given_batches)))
    assert [n for part in found for n in part.column("n").to_pylist()] == list(range(len(sites)))
    ends = [(part.column("site")[0].as_py(), part.column("site")[-1].as_py()) for part in found]
    assert all(one[1] != two[0] for one, two in pairwise(ends))


def test_long_sketches_travel_in_several_rows(monkeypatch):
    """Rows are short, and a site's sketch is that of whole rows, with its rejected rows."""
    rng = np.random.default_rng(0)
    columns = {
        "site": rng.integers(0, 5, 20_000), "tick": rng.integers(0, 5000, 20_000), "item": rng.integers(0, 99, 20_000)
    }  # fmt: skip
    bad = Events(pa.array([None, 1]), pa.array([1, None]), pa.array([0, 4]))
    layout = Layout(("bigint",), False, False)
    for recipe in (Recipe(CONFIG), Recipe(CONFIG.replace(counter="eh"))):
        tasks = [[*events, bad] for events in cut(columns, 6, 3)]
        whole = build(tasks, recipe, layout)
        with monkeypatch.context() as patch:
            patch.setattr(partial_rows, "CHUNK", 100)
            sent = list(batches_of(tasks, recipe, layout))
            assert max(len(sketch or b"") for batch in sent for sketch in batch.column("sketch").to_pylist()) == 100
            assert max(number for batch in sent for number in batch.column("chunk").to_pylist()) > 3
            assert build(tasks, recipe, layout) == whole
        assert {site: dict(row["reasons"]) for site, row in whole.items() if row["reasons"]} == {
            0: {"null item": 3}, 4: {"null tick": 3}
        }  # fmt: skip
        assert sum(row["events"] for row in whole.values()) == 20_000


def test_rejected_rows_of_small_sites_are_counted_where_they_belong():
    events = Events(pa.array([1, None, 3, 4]), pa.array([5, 6, None, 8]), pa.array(["a", "a", "b", None]))
    found = build([[events], [events]], Recipe(CONFIG), Layout(("bigint",), True, False))
    assert {site: (row["events"], row["reasons"]) for site, row in found.items()} == {
        "a": (2, [("null item", 2)]), "b": (0, [("null tick", 2)]), None: (0, [("null site", 2)])
    }  # fmt: skip
    assert ecm.load(found["b"]["sketch"]).is_empty
    assert found[None]["sketch"] is None


def test_on_spark_as_in_one_process(spark, tmp_path):
    """3,000 small sites and a large one, scattered over tasks, from a DataFrame and from files."""
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    site = np.concatenate([rng.integers(0, 3000, 30_000), np.full(5000, 3000)])
    rng.shuffle(site)
    columns = {"site": site, "tick": rng.integers(0, 2000, 35_000), "item": rng.integers(0, 99, 35_000)}
    for i in range(4):
        pq.write_table(pa.table(columns).slice(i * 8750, 8750), tmp_path / f"{i}.parquet")
    recipe = Recipe(CONFIG)
    one = ecm_spark.build_sketches(spark.read.parquet(str(tmp_path)).repartition(4), CONFIG, "item", "tick", "site")
    two = ecm_spark.build_sketches_from_files(spark, str(tmp_path), CONFIG, "item", "tick", "site", tasks=4)
    files, frame = ({row["site"]: row for row in found.collect()} for found in (two, one))
    assert len(files) == len(frame) == len(np.unique(site))
    for name in np.unique(site)[:-1].tolist()[::7]:
        assert bytes(files[name]["sketch"]) == expected(columns, name, recipe)
        assert ecm.load(frame[name]["sketch"]).total().value == ecm.load(files[name]["sketch"]).total().value
    assert sum(row["events"] for row in frame.values()) == sum(row["events"] for row in files.values()) == 35_000
