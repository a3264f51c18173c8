"""Whatever a row holds, it is counted or rejected; no sketch, store or monitor ever refuses what was let through."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.monitor import Above, Frequency, Site, Watch
from ecmsketch.spark import event_parsing
from ecmsketch.spark.cleaning import REFUSED, Events, Rows, clean, feed
from ecmsketch.spark.column_roles import Roles
from ecmsketch.spark.file_reading import read_events
from ecmsketch.spark.file_splits import find_splits
from ecmsketch.spark.gathered_rows import GatheredEvents
from ecmsketch.spark.partial_rows import to_batches
from ecmsketch.spark.partials import Partial, PartialSketches
from ecmsketch.spark.recipe import Recipe, ahead_ticks, make_recipe, with_horizon
from ecmsketch.spark.row_order import in_order
from ecmsketch.spark.sent_events import Layout
from ecmsketch.spark.site_uniting import unite_rows

CONFIG = ecm.SketchConfig(epsilon=0.2, delta=0.2, window=1000, unit="s", late="side")
NAMED = CONFIG.replace(heavy_hitters=True)
BROKEN = b"\xff\xfe"


def broken_text(values):
    """A column of texts as Spark and Parquet may give it: not all of its bytes are UTF-8."""
    offsets = np.cumsum([0, *(len(value or b"") for value in values)]).astype(np.int32)
    valid = np.packbits([value is not None for value in values], bitorder="little").tobytes()
    buffers = [pa.py_buffer(valid), pa.py_buffer(offsets), pa.py_buffer(b"".join(value or b"" for value in values))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


numbers = st.none() | st.sampled_from(
    [0, 1, -1, 5, 2**31, 2**53, 2**53 + 1, 2**61, 2**62, 2**62 + 1, 2**63 - 1, -(2**61) - 1, -(2**63), 253_402_300_799]
)
texts = st.sampled_from([None, b"", b"a", b"b", "é".encode(), BROKEN, b"x" * 1024, b"x" * 1025])
hostile = st.lists(st.tuples(texts, texts, numbers, numbers, numbers), min_size=1, max_size=30)


def events_of(rows, kind):
    sites, words, items, ticks, weights = zip(*rows, strict=True)
    chosen = broken_text(words) if kind == "text" else pa.array(items, pa.int64())
    if kind == "both":
        chosen = {"a": broken_text(words), "b": pa.array(items, pa.int64())}
    return Events(chosen, pa.array(ticks, pa.int64()), broken_text(sites), pa.array(weights, pa.int64()), 2)


@given(hostile, st.sampled_from(["text", "number", "both", "domain"]), st.booleans())
def test_hostile_rows_are_counted_or_rejected(rows, kind, streaming):
    config = CONFIG if kind in ("number", "domain") else NAMED
    recipe = Recipe(config if streaming else config.replace(late="raise"), 8 if kind == "domain" else None)
    if streaming:
        gathered = GatheredEvents(recipe)
        gathered.add(events_of(rows, kind))
        counted, rejected = 0, 0
        for site, batch, reasons in list(gathered.take()):
            rejected += sum(reasons.values())
            for ordered in [] if batch is None else [in_order([batch])]:
                sketch = recipe.new(site)
                refused = feed(lambda part, sketch=sketch: sketch.update_many(*part), ordered)
                counted += len(ordered.ticks) - sum(refused.values())
                rejected += sum(refused.values())
    else:
        making = PartialSketches(recipe)
        pieces = [*making.add(events_of(rows, kind)), *making.finish()]
        counted = sum(piece.events for piece in pieces)
        rejected = sum(sum(piece.reasons.values()) for piece in pieces)
        for piece in pieces:
            assert piece.site is None or 1 <= len(piece.site.encode()) <= 1024
            if piece.sketch is not None and piece.last_tick is not None:
                assert ecm.load(piece.sketch).now == piece.last_tick
    assert counted + rejected == len(rows) + 2


@given(hostile)
def test_a_site_of_a_monitor_takes_what_is_let_through(rows):
    watch = Watch(Frequency("a"), Above(5), 1000, NAMED, balance="eager")
    gathered = GatheredEvents(Recipe(NAMED))
    gathered.add(events_of(rows, "text"))
    for name, batch, _ in list(gathered.take()):
        for ordered in [] if batch is None else [in_order([batch])]:
            site = Site(name, watch)
            feed(lambda part, site=site: site.observe(*part), ordered)
            site.serialize()


def test_every_reason_has_a_name_and_a_site():
    rows = [
        (b"s", b"a", 1, 10, 1), (None, b"a", 1, 10, 1), (b"", b"a", 1, 10, 1), (b"x" * 1025, b"a", 1, 10, 1),
        (BROKEN, b"a", 1, 10, 1), (b"s", None, 1, 10, 1), (b"s", BROKEN, 1, 10, 1), (b"s", b"a", 1, None, 1),
        (b"s", b"a", 1, 10, None), (b"s", b"a", 1, 2**62 + 1, 1), (b"s", b"a", 1, -(2**61) - 1, 1),
        (b"s", b"a", 1, 2001, 1), (b"s", b"a", 1, 1001, 1), (b"s", b"a", 1, 10, -1), (b"s", b"a", 1, 10, 2**53 + 1),
    ]  # fmt: skip
    kept, rejected = clean(events_of(rows, "text"), Recipe(NAMED, until=2000, horizon=1000))
    assert kept.sites.to_pylist() == ["s"]
    assert rejected == {
        None: {
            "malformed row": 2, "null site": 1, "empty site": 1, "site name over 1024 bytes": 1, "site is not UTF-8": 1
        },
        "s": {
            "null item": 1, "item is not UTF-8": 1, "null tick": 1, "null weight": 1, "tick out of range": 2,
            "tick in the future": 1, "tick too far ahead": 1, "negative weight": 1, "weight above 2**53": 1,
        },
    }  # fmt: skip


def test_weights_that_are_too_many_together_are_refused_one_by_one():
    sketch = ecm.EcmSketch(CONFIG)
    weights = np.array([5, 2**53 - 20, 2**52, 7, 2**52, 1], np.int64)
    rows = Rows(np.arange(6), np.arange(6), weights)
    assert feed(lambda part: sketch.update_many(*part), rows) == {REFUSED: 2}
    assert sketch.total().value == pytest.approx(2**53 - 7)
    many = Rows(np.arange(100_000), np.arange(6, 100_006), np.full(100_000, 2**40))
    calls = []

    def count(part):
        calls.append(part)
        sketch.update_many(*part)

    assert feed(count, many)[REFUSED] > 0
    assert len(calls) < 5000  # a full sketch does not make a query slow


def test_pieces_of_a_site_that_are_too_many_together_leave_the_fullest_out():
    layout, parts = Layout(("bigint",), True, False), []
    for number, weight in enumerate((3, 2**53 - 1, 4)):
        sketch = ecm.EcmSketch(CONFIG)
        sketch.update_many([1], [weight % 100], [weight])
        parts.append(Partial("s", number, sketch.serialize(), 1, 5, 6, {}))
    ((row,),) = (batch.to_pylist() for batch in unite_rows(to_batches(parts, layout), Recipe(CONFIG), layout))
    assert (row["events"], row["reasons"]) == (2, [(REFUSED, 1)])
    assert ecm.load(row["sketch"]).total().value == 7


def test_rows_of_weight_zero_are_no_arrivals_and_move_no_clock():
    making = PartialSketches(Recipe(CONFIG))
    columns = [pa.array([1] * 4), pa.array([2, 5, 7, 900]), pa.array(["s", "s", "s", "t"]), pa.array([0, 1, 0, 0])]
    list(making.add(Events(columns[0], columns[1], columns[2], columns[3])))
    found = {piece.site: piece for piece in making.finish()}
    assert (found["s"].events, found["s"].first_tick, found["s"].last_tick) == (3, 5, 5)
    assert ecm.load(found["s"].sketch).now == 5
    assert (found["t"].events, found["t"].first_tick, found["t"].last_tick) == (1, None, None)
    assert ecm.load(found["t"].sketch).now is None


@pytest.mark.parametrize("unit", ["ns", "us", "ms", "s", "D"])
def test_moments_in_files_that_64_bits_cannot_hold_are_out_of_range(unit):
    roles = Roles(["item"], "tick", None, None, unit, False)
    for kind in (pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("ns"), pa.date32(), pa.date64()):
        values = [0, None] if kind in (pa.date32(), pa.date64()) else [0, None, 2**60, -(2**60)]
        given = pa.array(values, pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
        ticks = event_parsing.tick_column(given, roles).to_pylist()
        assert ticks[:2] == [0, None]
        for value, tick in zip(values[2:], ticks[2:], strict=True):
            factor = {"s": 1, "us": 10**6, "ns": 10**9}[kind.unit]
            seconds = value / factor
            wanted = seconds * {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1, "D": 1 / 86_400}[unit]
            assert tick == 2**63 - 1 if abs(wanted) >= 2**63 else tick == pytest.approx(wanted, rel=1e-9, abs=1)


def test_unsigned_numbers_in_files():
    roles = Roles(["item"], "tick", None, "weight", None, False)
    columns = {name: pa.array([7, 2**63 + 7, None], pa.uint64()) for name in ("item", "tick", "weight")}
    events = event_parsing.to_events(columns, roles, 0)
    assert events.items.to_pylist() == [7, 7 - 2**63, None]
    assert events.ticks.to_pylist() == events.weights.to_pylist() == [7, 2**63 - 1, None]


def test_lines_of_csv_that_are_no_text_are_malformed(tmp_path):
    (tmp_path / "log.csv").write_bytes(b"tick,item\n1,/a\n2,/\xff\n3,/c\n")
    (split,) = find_splits(str(tmp_path), None)
    (events,) = read_events(split, Roles(["item"], "tick", None, None, None, True))
    assert (events.ticks.to_pylist(), events.items.to_pylist(), events.malformed) == ([1, 3], ["/a", "/c"], 1)


def test_sites_as_bytes_in_files_are_names():
    sites = pa.array([b"a", BROKEN, b"b"], pa.binary())
    kept, rejected = clean(Events(pa.array([1, 2, 3]), pa.array([1, 2, None]), sites), Recipe(CONFIG))
    assert kept.sites.to_pylist() == ["a"]
    assert rejected == {None: {"site is not UTF-8": 1}, "b": {"null tick": 1}}


class TestAhead:
    def test_in_ticks(self):
        from datetime import timedelta

        assert ahead_ticks(timedelta(days=1), "s") == 86_400
        assert ahead_ticks(timedelta(days=1), "D") == 1
        assert ahead_ticks(60, "s") == 60
        assert ahead_ticks(None, "s") is None
        assert ahead_ticks(60, None) is None  # plain integers have no wall clock

    @pytest.mark.parametrize("wrong", [0, -1, True, "1d", 1.5, 2**63])
    def test_refusals(self, wrong):
        with pytest.raises(ecm.errors.ConfigError, match="ahead: "):
            ahead_ticks(wrong, "s")

    def test_a_job_takes_its_limit_from_its_start(self):
        import time

        recipe = with_horizon(make_recipe(CONFIG, None, 16, None), 100)
        assert abs(recipe.horizon - (time.time() + 100)) < 5
        assert with_horizon(make_recipe(CONFIG.replace(unit=None), None, 16, None), 100).horizon is None
