"""Streams are what they say: labelled, in order of time, exactly counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ecmsketch as ecm
from ecmsketch.errors import InputError
from ecmsketch.experiments.data.event_stream import WINDOW
from ecmsketch.experiments.data.exact_counts import count_exactly
from ecmsketch.experiments.data.named_streams import STREAM_NAMES, expand_names, open_event_stream
from ecmsketch.experiments.data.parquet_stream import ColumnNames
from ecmsketch.experiments.data.site_files import sketch_site, write_sites
from ecmsketch.experiments.paper.accuracy import counter_error, observe, overall
from ecmsketch.experiments.paper.aggregation import aggregate
from ecmsketch.experiments.paper.variants import Variant, our_variants, sketch_all
from ecmsketch.inputs.items import hash_items
from oracles import ExactWindow


@pytest.mark.parametrize("name", ["worldcup98-generated", "snmp"])
def test_generated_streams_say_so_and_cover_the_window(name):
    stream = open_event_stream(name, 20_000)
    batches = list(stream.batches())
    ticks = np.concatenate([batch.ticks for batch in batches])
    assert stream.label == "GENERATED"
    assert "generated" in stream.what
    assert len(ticks) == stream.events == 20_000
    assert ticks[-1] == stream.now
    assert (np.diff(ticks) >= 0).all()
    assert stream.now - stream.first > 2 * WINDOW
    assert stream.ranges == [10, 100, 1000, 10_000, 100_000, 1_000_000]
    assert stream.sites == {"worldcup98-generated": 33, "snmp": 535}[name]


@pytest.mark.parametrize(("name", "days", "sites"), [("worldcup98-generated", 88, 33), ("snmp", 119, 535)])
def test_long_generated_streams_are_as_long_as_the_traces_and_not_made_before_they_are_read(name, days, sites):
    stream = open_event_stream(name, 1_090_000_000)
    assert 0.99 * days < (stream.now - stream.first) / 86_400 <= days
    assert stream.sites == sites
    batch = next(iter(stream.batches()))
    assert len(batch.ticks) < 300_000
    last = list(stream.batches_from(stream.now - 1))
    assert len(last) < 10
    assert last[-1].ticks[-1] == stream.now


def test_counting_reads_only_what_the_longest_range_needs():
    stream = open_event_stream("snmp", 2_000_000)
    read = []

    def reading(tick):
        for batch in stream.skip_to(tick):
            read.append(len(batch.ticks))
            yield batch

    (short,) = count_exactly(replace(stream, skip_to=reading), [100_000])
    (whole,) = count_exactly(replace(stream, skip_to=None), [100_000])
    assert sum(read) < 600_000
    assert (short.items == whole.items).all()
    assert (short.counts == whole.counts).all()


@pytest.mark.parametrize("name", ["worldcup98-sample", "flights", "twitter"])
def test_real_streams_say_so(shared_data, name):
    stream = open_event_stream(name, 3000)
    ticks = np.concatenate([batch.ticks for batch in stream.batches()])
    assert stream.label == "real"
    assert len(ticks) == stream.events == 3000
    assert (np.diff(ticks) >= 0).all()
    assert str(shared_data) not in stream.what


def test_without_the_data_folder_generated_streams_remain(monkeypatch, tmp_path):
    monkeypatch.setenv("ECMSKETCH_DATA", str(tmp_path))
    assert expand_names(["worldcup98", "snmp"]) == ["worldcup98-generated", "snmp"]
    with pytest.raises(InputError, match="ECMSKETCH_DATA"):
        open_event_stream("flights", 1000)
    with pytest.raises(InputError, match=STREAM_NAMES[0]):
        open_event_stream("nonsense", 1000)


def test_own_files_are_read_in_order_of_time(tmp_path):
    ticks = np.array([5, 5, 7, 90], np.int64)
    table = pa.table({"url": ["a", "b", "a", "c"], "at": ticks, "host": ["x", "y", "x", "x"]})
    pq.write_table(table, tmp_path / "log.parquet")
    columns = ColumnNames("url", "at", "host")
    stream = open_event_stream(str(tmp_path / "log.parquet"), 3, columns=columns)
    assert (stream.name, stream.events, stream.now, stream.sites, stream.label) == ("log", 3, 7, 2, "real")
    pq.write_table(table.take([3, 0]), tmp_path / "back.parquet")
    with pytest.raises(InputError, match="sort the files by it first"):
        open_event_stream(str(tmp_path / "back.parquet"), 10, columns=columns)
    with pytest.raises(InputError, match="--tick"):
        open_event_stream(str(tmp_path / "log.parquet"), 10)


def test_files_that_were_generated_are_labelled(tmp_path):
    pq.write_table(pa.table({"item": [1, 2], "tick": [1, 2]}), tmp_path / "part.parquet")
    assert open_event_stream(str(tmp_path), 10).label == "real"
    (tmp_path / "_GENERATED.json").write_text("{}")
    assert open_event_stream(str(tmp_path), 10).label == "GENERATED"


def test_exact_counts_are_exact(tiny):
    window = ExactWindow()
    for batch in tiny.batches():
        window.add(batch.items.tolist(), batch.ticks.tolist())
    for truth in count_exactly(tiny, [10, 700, 100_000]):
        counts = window.frequencies(tiny.now - truth.last)
        assert dict(zip(truth.items.tolist(), truth.counts.tolist(), strict=True)) == counts
        assert truth.total == window.total(tiny.now - truth.last)
        assert truth.self_join == window.self_join(tiny.now - truth.last)


def test_observed_errors_are_relative_to_all_arrivals(tiny):
    config = Variant("eh").config(0.2, 0.1, 0)
    (sketch,) = sketch_all(tiny, [config])
    truths = count_exactly(tiny)
    for truth in truths:
        found = observe(sketch, truth, "point")
        by_hand = [
            abs(sketch.cells(int(item), last=truth.last).value.min() - count) / truth.counts.sum()
            for item, count in zip(truth.items, truth.counts, strict=True)
        ]
        assert found.queries == len(by_hand)
        assert found.average == pytest.approx(np.mean(by_hand))
        assert found.worst == pytest.approx(max(by_hand))
    together = overall([observe(sketch, truth, "point") for truth in truths])
    assert together.queries == sum(len(truth.items) for truth in truths)


@pytest.mark.parametrize("variant", our_variants(), ids=lambda variant: f"{variant.name}, {variant.query}")
def test_ours_are_asked_as_users_ask_them(tiny, variant):
    (sketch,) = sketch_all(tiny, [variant.config(0.2, 0.1, 0)])
    truth = count_exactly(tiny)[-1]
    found = observe(sketch, truth, variant.query, today=True)
    if variant.query == "point":
        answers = [sketch.estimate(int(item), last=truth.last).value for item in truth.items]
        assert found.average == pytest.approx(np.mean(np.abs(answers - truth.counts)) / truth.total)
    else:
        assert found.average == abs(sketch.self_join(last=truth.last).value - truth.self_join) / truth.total**2


@pytest.mark.parametrize("query", ["point", "self-join"])
def test_without_collisions_only_the_error_of_counters_is_left(tiny, query):
    """Whole buckets are exact, so over all time counters are; over a part they are off by less than epsilon_sw."""
    variant = Variant("eh", query)
    (sketch,) = sketch_all(tiny, [variant.config(0.2, 0.1, 0)])
    everything, part = count_exactly(tiny, [100_000, 2000])
    assert counter_error(sketch, everything, query) == 0
    assert observe(sketch, everything, query).average > 0
    own, factors = counter_error(sketch, part, query), 1 if query == "point" else 2
    assert 0 < own < (1 + sketch.config.epsilon_sw) ** factors - 1


def test_variants_have_names_of_their_own():
    published = [
        Variant("eh"),
        Variant("dw"),
        Variant("dw", reserved=True),
        Variant("rw"),
        Variant("rw", wave_constant=36),
    ]
    names = [variant.name for variant in (*published, *our_variants()[::2])]
    assert names == ["eh", "dw", "dw reserved", "rw", "rw c=36", "eh sharper", "slices", "slices 0.1"]


@pytest.mark.parametrize("counter", ["eh", "dw", "rw"])
def test_the_tree_in_this_process_is_the_librarys_binary_merge(tmp_path, tiny, counter):
    config = Variant(counter).config(0.2, 0.1, 0)
    files = write_sites(tiny, tmp_path / "sites")
    sites = [sketch_site(path, config) for path in files]
    found = aggregate(files, config)
    assert found.tree.sketch == ecm.merge(sites, method="binary")
    one_step = ecm.merge(sites)
    for truth in count_exactly(tiny):
        ours, theirs = (sketch.estimate_many(truth.items, last=truth.last) for sketch in (found.n_way.sketch, one_step))
        assert (ours.value == theirs.value).all()
        assert (ours.lower == theirs.lower).all()
    leaves = sum(len(site.serialize()) for site in sites)
    assert found.n_way.network_bytes == found.tree.bytes_by_level[0] == leaves
    assert len(found.tree.bytes_by_level) == 3


def test_dealing_out_loses_nothing(tmp_path, tiny, monkeypatch):
    monkeypatch.setattr("ecmsketch.experiments.data.site_files.BUFFERED_EVENTS", 1000)
    for sites in (None, 7):
        files = write_sites(tiny, tmp_path / str(sites), sites)
        assert len(files) == (sites or tiny.sites)
        assert sum(pq.read_metadata(path).num_rows for path in files) == tiny.events
        table = pq.read_table(files[0])
        assert (np.diff(table["tick"].to_numpy()) >= 0).all()


def test_names_of_items_are_hashed_as_the_library_does(shared_data):
    stream = open_event_stream("twitter", 10)
    names = pq.read_table(shared_data / "twitter" / "cluster52-1m.parquet")["item"][:10]
    assert (next(iter(stream.batches())).items == hash_items(names)).all()
