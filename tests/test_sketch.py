from __future__ import annotations

import copy
import pickle
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.errors import ConfigError, EcmError, InputError, LateArrivalError, MergeError, QueryError
from streams import cuts, ticks_of, zipf_items


def make(**changes):
    return ecm.SketchConfig(**{"epsilon": 0.1, "delta": 0.1, "window": 1000, **changes})


def filled(config, events=20_000, seed=0, distinct=500, weights=None):
    rng = np.random.default_rng(seed)
    items = zipf_items(events, distinct, rng)
    ticks = np.sort(rng.integers(0, 5000, events))
    sketch = ecm.EcmSketch(config)
    sketch.update_many(items, ticks, weights)
    return sketch, items, ticks


def shifted(sketch, ticks):
    """The same arrivals, later."""
    state = sketch._state()
    return ecm.EcmSketch._of(state._replace(engine=state.engine.shifted(ticks)))


class TestFeeding:
    @pytest.mark.parametrize("counter", ["eh", "dw", "rw", "slices"])
    @pytest.mark.parametrize("model", ["time", "count"])
    @pytest.mark.parametrize("epsilon", [0.3, 0.1])
    def test_one_by_one_is_the_same_as_in_bulk(self, counter, model, epsilon):
        rng = np.random.default_rng(3)
        items, ticks = zipf_items(6000, 100, rng).tolist(), ticks_of("bursts", 6000, 1000, rng).tolist()
        config = make(model=model, epsilon=epsilon, counter=counter)
        single, bulk, pieces = (ecm.EcmSketch(config, site="here") for _ in range(3))
        for item, tick in zip(items, ticks, strict=True):
            single.update(item, tick if model == "time" else None)
        bulk.update_many(items, ticks if model == "time" else None)
        for piece in cuts(6000, 17, rng):
            pieces.update_many(items[piece], ticks[piece] if model == "time" else None)
        assert single == bulk == pieces

    def test_containers_are_all_welcome(self):
        items, ticks, weights = ["a", "b", "a"], [1, 2, 3], [1, 2, 3]
        expected = ecm.EcmSketch(make())
        for item, tick, weight in zip(items, ticks, weights, strict=True):
            expected.update(item, tick, weight)
        for wrap in (list, tuple, np.array, pd.Series, pa.array, lambda x: pa.chunked_array([x[:1], x[1:]])):
            sketch = ecm.EcmSketch(make())
            sketch.update_many(wrap(items), wrap(ticks), wrap(weights))
            assert sketch == expected, wrap

    def test_unsorted_ticks_in_a_batch_are_sorted(self):
        rng = np.random.default_rng(1)
        items, ticks = zipf_items(3000, 50, rng), rng.integers(0, 900, 3000)
        order = np.argsort(ticks, kind="stable")
        shuffled, ordered = ecm.EcmSketch(make()), ecm.EcmSketch(make())
        shuffled.update_many(items, ticks)
        ordered.update_many(items[order], ticks[order])
        assert shuffled == ordered

    def test_blocks_inside_a_batch_change_nothing(self):
        sketch, items, ticks = filled(make())
        small = ecm.EcmSketch(make())
        small._block = 777
        small.update_many(items, ticks)
        assert small == sketch

    def test_weight_zero_is_ignored_and_negative_is_an_error(self):
        sketch = ecm.EcmSketch(make())
        sketch.update("a", 5, weight=0)
        assert sketch.is_empty
        assert sketch.now is None
        sketch.update_many(["a", "b"], [1, 2], [0, 3])
        assert sketch.total().value == 3
        with pytest.raises(InputError, match="zero or more"):
            sketch.update("a", 5, weight=-1)

    @pytest.mark.parametrize(
        ("items", "ticks", "weights"),
        [
            (["a"], None, None), (["a"], [1, 2], None), (["a"], [1.5], None), (["a"], ["noon"], None),
            (["a"], [None], None), (["a"], [2**62 + 1], None), (["a"], [-(2**61) - 1], None),
            (["a"], np.array([2**63], np.uint64), None),
            (["a"], [[1]], None), (["a"], [1], [1, 2]), (["a"], [1], [1.5]), (["a"], [1], ["x"]), (["a"], [1], [[1]]),
            (["a"], [1], [2**62]), (["a"], np.array(["2020"], "M8[D]"), None), ([None], [1], None),
            (["a"], pa.array([None], pa.int64()), None), (["a"], [1], pa.array([None], pa.int64())),
            (["a"], datetime(2020, 1, 1, tzinfo=UTC), None), (["a"], 5, None), (5, [1], None),
            (["a", "b"], [1, [2]], None), (None, [1], None), ({"a": 1}, [1], None), (bytearray(b"a"), [1], None),
            (pd.DataFrame({"a": [1]}), [1], None), (pa.table({"a": [1]}), [1], None),
            (["a"], pa.table({"a": [1]}), None),
            (np.ma.array([1, 2], mask=[0, 1]), [1, 2], None), (["a"], np.ma.array([1], mask=[1]), None),
            (["a"], [1], np.ma.array([1], mask=[1])), (np.array([5], "M8[ns]"), [1], None),
            ([np.timedelta64(5, "ns")], [1], None), (["a"], [np.timedelta64(5, "ns")], None),
            (["a"], [1], [2**53 + 1]),
        ],
    )  # fmt: skip
    def test_bad_input_is_refused_whole_and_clearly(self, items, ticks, weights):
        sketch = ecm.EcmSketch(make())
        sketch.update("x", 0)
        before = sketch.serialize()
        with pytest.raises(InputError, match=r"^(item|tick|weight|range)"):
            sketch.update_many(items, ticks, weights)
        assert sketch.serialize() == before

    def test_nothing_in_nothing_counted(self):
        sketch = ecm.EcmSketch(make())
        sketch.update_many([], [])
        assert sketch.is_empty

    def test_counters_refuse_more_than_they_can_hold(self):
        sketch = ecm.EcmSketch(make())
        sketch.update("a", 1, weight=2**53 - 1)
        sketch.update("a", 2)
        assert ecm.EcmSketch.deserialize(sketch.serialize()).estimate("a").value == 2**53
        with pytest.raises(InputError, match=r"2\*\*53"):
            sketch.update("b", 3, weight=2)
        for combine in (ecm.merge, ecm.concat):
            with pytest.raises(MergeError, match=r"2\*\*53"):
                combine([sketch, shifted(sketch, 10)])

    def test_the_clock_cannot_go_back(self):
        sketch = ecm.EcmSketch(make())
        sketch.advance(50)
        assert sketch.now == 50
        with pytest.raises(InputError, match="cannot go back"):
            sketch.advance(49)
        with pytest.raises(LateArrivalError, match="behind the sketch's clock 50"):
            sketch.update("a", 49)
        sketch.update("a", 50)
        assert sketch.estimate("a").value == 1

    def test_count_based_sketches_number_arrivals_themselves(self):
        sketch = ecm.EcmSketch(make(model="count", window=10))
        sketch.update_many(["a"] * 5, [1, 2, 3, 4, 5])
        sketch.update("b", weight=7)
        assert (sketch.now, sketch.total(last=10).value, sketch.estimate("a").value) == (12, 10, 3)
        assert sketch.estimate("b", last=3).value == 3
        with pytest.raises(InputError, match="leave ticks out"):
            sketch.update("c", 99)
        with pytest.raises(InputError, match="only arrivals"):
            sketch.advance(99)


class TestDatetimes:
    def test_moments_and_spans_in_the_configs_unit(self):
        sketch = ecm.EcmSketch(make(unit="s", window=timedelta(days=1)))
        noon = datetime(2026, 6, 1, 12, tzinfo=UTC)
        sketch.update("a", noon)
        sketch.update("a", datetime(2026, 6, 1, 14, 30, tzinfo=timezone(timedelta(hours=2))))
        sketch.update_many(["a", "b"], np.array(["2026-06-01T13:00", "2026-06-01T14:00"], "M8[m]"))
        sketch.update_many(pd.Series(["a"]), pd.Series([pd.Timestamp("2026-06-01 17:00", tz="Europe/Paris")]))
        sketch.update_many(pa.array(["a"]), pa.array([datetime(2026, 6, 1, 16, tzinfo=UTC)]))
        assert sketch.now == int(datetime(2026, 6, 1, 16, tzinfo=UTC).timestamp())
        assert sketch.estimate("a", last=timedelta(hours=2)).value == 2
        assert sketch.estimate("a", between=(noon - timedelta(hours=1), noon)).value == 1
        assert sketch.estimate("a", last=np.timedelta64(4, "h")).value == 4

    def test_dates_are_ticks_when_the_unit_is_a_day(self):
        sketch = ecm.EcmSketch(make(unit="D", window=30))
        sketch.update("ATL", date(2001, 1, 1))
        sketch.update("ATL", date(2001, 1, 20))
        assert sketch.estimate("ATL", last=timedelta(days=7)).value == 1

    def test_nanoseconds_survive_in_lists_too(self):
        stamp = pd.Timestamp(1_577_836_800_000_000_123)
        for ticks in ([stamp], pd.Series([stamp]), np.array([stamp.to_datetime64()])):
            sketch = ecm.EcmSketch(make(unit="ns"))
            sketch.update_many(["a"], ticks)
            assert sketch.now == 1_577_836_800_000_000_123
        with pytest.raises(QueryError, match="whole number"):
            ecm.EcmSketch(make(unit="us")).total(last=pd.Timedelta(1500))

    @pytest.mark.parametrize("tick", [pd.NaT, np.datetime64("NaT"), datetime(2560, 1, 1), np.datetime64(10**10, "Y")])
    def test_moments_that_are_none_or_out_of_reach_are_refused(self, tick):
        for column in ([tick], np.array([tick])):
            with pytest.raises(InputError, match=r"missing|coarser unit"):
                ecm.EcmSketch(make(unit="ns")).update_many(["a"], column)

    @pytest.mark.parametrize("span", [np.timedelta64(1, "M"), np.timedelta64("NaT")])
    def test_spans_have_a_fixed_length(self, span):
        with pytest.raises(QueryError, match="fixed length"):
            ecm.EcmSketch(make(unit="s")).total(last=span)

    def test_a_missing_unit_is_said(self):
        with pytest.raises(InputError, match="no unit"):
            ecm.EcmSketch(make()).update("a", datetime(2026, 1, 1, tzinfo=UTC))


class TestQueries:
    @pytest.mark.parametrize("ask", ["total", "self_join"])
    def test_ranges_longer_than_the_window_are_refused(self, ask):
        sketch, _, _ = filled(make())
        with pytest.raises(QueryError, match="1000"):
            getattr(sketch, ask)(last=1001)
        with pytest.raises(QueryError, match="before the window"):
            getattr(sketch, ask)(between=(0, 10))
        with pytest.raises(QueryError, match="not both"):
            getattr(sketch, ask)(last=1, between=(4990, 4991))
        with pytest.raises(QueryError, match="from <= to"):
            getattr(sketch, ask)(between=(4991, 4990))
        with pytest.raises(EcmError):
            getattr(sketch, ask)(last="hour")

    def test_an_empty_sketch_answers_zero(self):
        sketch = ecm.EcmSketch(make())
        for answer in (sketch.estimate("a"), sketch.total(last=5), sketch.self_join(), sketch.inner_product(sketch)):
            assert answer[:3] == (0, 0, 0)

    def test_a_range_of_nothing_and_one_in_the_future(self):
        sketch, _, ticks = filled(make())
        now = int(ticks[-1])
        assert sketch.total(last=0).upper == 0
        assert sketch.total(between=(now, now + 50)).upper == 0
        assert sketch.total(between=(now - 100, now + 50)) == sketch.total(last=100)

    def test_ranges_that_reach_before_the_first_arrival_are_exact(self):
        config = make(window=10_000)
        sketch, _, _ = filled(config)
        assert sketch.total() == ecm.Estimate(20_000, 20_000, 20_000, 1.0)
        merged = ecm.merge([sketch, filled(config, seed=1)[0]])
        assert merged.total() == ecm.Estimate(40_000, 40_000, 40_000, 1.0)

    @pytest.mark.parametrize("counter", ["eh", "dw", "slices"])
    @pytest.mark.parametrize("model", ["time", "count"])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_hard_bounds_hold_for_every_item_and_range(self, counter, model, weighted):
        rng = np.random.default_rng(5)
        items = zipf_items(4000, 300, rng)
        ticks = ticks_of("bursts", 4000, 1000, rng)
        weights = rng.integers(1, 9, 4000) if weighted else None
        config = make(model=model, epsilon=0.05, counter=counter)
        sketch = ecm.EcmSketch(config)
        sketch.update_many(items, ticks if model == "time" else None, weights)
        each = np.ones(4000, np.int64) if weights is None else weights
        if model == "count":
            items, each = np.repeat(items, each), np.ones(each.sum(), np.int64)
            ticks = np.arange(1, len(items) + 1)
        for last in (1, 7, 60, 333, 999, 1000):
            inside = ticks > ticks[-1] - last
            exact = np.bincount(items[inside], each[inside], minlength=300)
            found = sketch.estimate_many(np.arange(300), last=last)
            assert (found.upper >= exact).all()
            taken = (1 + config.epsilon_sw) * (exact.sum() - exact) / config.width  # at most, for collisions
            assert (found.value >= exact * (1 - config.epsilon_sw) - taken - 1e-9).all()
            for item in (0, 7, 299):
                assert sketch.cells(item, last=last).value.min() >= exact[item] * (1 - config.epsilon_sw) - 1e-9
            assert sketch.total(last=last).covers(exact.sum())
            assert sketch.self_join(last=last, confidence=1).covers((exact**2).sum())

    def test_intervals_inside_the_window(self):
        sketch, items, ticks = filled(make(epsilon=0.02))
        for t1, t2 in ((4100, 4200), (4000, 4999), (4500, 4501), (4700, 4700)):
            exact = np.bincount(items[(ticks > t1) & (ticks <= t2)], minlength=500)
            found = sketch.estimate_many(np.arange(500), between=(t1, t2))
            assert (found.upper >= exact).all()
            assert sketch.total(between=(t1, t2)).covers(exact.sum())
            assert sketch.self_join(between=(t1, t2), confidence=1).covers((exact**2).sum())

    def test_the_papers_estimator_can_be_chosen(self):
        sketch, items, ticks = filled(make(epsilon=0.3))
        paper = sketch.copy(estimator="half")
        assert paper.estimate(0, last=500) != sketch.estimate(0, last=500)
        exact = int(((items == 0) & (ticks > ticks[-1] - 500)).sum())
        assert paper.estimate(0, last=500).upper >= exact

    def test_inner_product_of_streams_with_different_clocks(self):
        config = make(epsilon=0.05)
        one, items, ticks = filled(config, seed=1)
        other = ecm.EcmSketch(config)
        keep = ticks <= 4600
        other.update_many(items[keep], ticks[keep])
        exact = (
            np.bincount(items[ticks > 4500], minlength=500) * np.bincount(items[(ticks > 4500) & keep], minlength=500)
        ).sum()
        now = int(ticks[-1])
        for answer in (one.inner_product(other, last=now - 4500), other.inner_product(one, last=now - 4500)):
            assert answer.covers(exact)

    @pytest.mark.parametrize("between", [5, (1, 2, 3), (1,), "ab"])
    def test_intervals_are_two_ticks(self, between):
        with pytest.raises(EcmError):
            ecm.EcmSketch(make()).total(between=between)

    def test_a_count_based_range_after_the_last_arrival_is_empty(self):
        sketch = ecm.EcmSketch(make(model="count"))
        sketch.update_many([1] * 50)
        assert sketch.total(between=(200, 300)) == ecm.Estimate(0, 0, 0, 1.0)

    def test_equal_sketches_give_equal_answers(self):
        """Whatever was lazily forgotten, rebased or cut: 2000 answers, bit for bit."""
        rng = np.random.default_rng(1)
        for shape in ("bursts", "gaps", "steady"):
            items, ticks = rng.integers(0, 5, 4000), ticks_of(shape, 4000, 1000, rng)
            whole, pieces = ecm.EcmSketch(make()), ecm.EcmSketch(make())
            whole.update_many(items, ticks)
            for piece in cuts(4000, 30, rng):
                pieces.update_many(items[piece], ticks[piece])
            again = ecm.EcmSketch.deserialize(whole.serialize())
            for last in range(1, 1000, 7):
                answers = [
                    sketch.estimate_many(np.arange(5), last=last).value.tolist() for sketch in (whole, pieces, again)
                ]
                assert answers[0] == answers[1] == answers[2]

    def test_inner_product_needs_another_sketch(self):
        with pytest.raises(QueryError, match="expected an EcmSketch"):
            ecm.EcmSketch(make()).inner_product(None)

    def test_inner_product_needs_equal_configs(self):
        with pytest.raises(QueryError, match="differ in seed"):
            ecm.EcmSketch(make()).inner_product(ecm.EcmSketch(make(seed=1)))


class TestOverTime:
    @pytest.mark.parametrize("counter", ["eh", "dw", "slices"])
    def test_a_history_lies_within_its_bounds(self, counter):
        sketch, items, ticks = filled(make(counter=counter, epsilon=0.02))
        for step, last in ((50, None), (7, 300), (333, 1000), (1000, None)):
            series = sketch.history(0, step, last)
            assert len(series) == (last or 1000) // step
            assert series.tick[-1] == sketch.now
            for tick, answer in zip(series.tick, series.estimates, strict=True):
                exact = int(((items == 0) & (ticks > tick - step) & (ticks <= tick)).sum())
                assert answer.covers(exact)
                asked = sketch.estimate(0, between=(int(tick) - step, int(tick)))
                assert answer[:3] == asked[:3]
                assert answer.confidence <= asked.confidence

    def test_a_history_of_nothing_and_of_too_much(self):
        empty = ecm.EcmSketch(make())
        assert empty.history("a", 100).estimates.value.tolist() == [0] * 10
        for step in (0, -5):
            with pytest.raises(QueryError, match="step from 1 to"):
                empty.history("a", step)
        with pytest.raises(QueryError, match="at most 100,000"):
            ecm.EcmSketch(make(window=10**9)).history("a", 1)

    def test_datetimes(self):
        sketch = ecm.EcmSketch(make(unit="s", window=timedelta(hours=1)))
        sketch.update_many(["a"] * 60, np.arange(60) * 60)
        assert sketch.history("a", timedelta(minutes=10)).estimates.value == pytest.approx([10] * 6, abs=0.6)

    @pytest.mark.parametrize("model", ["time", "count"])
    def test_the_last_n_arrivals_of_merged_sites(self, model):
        """What count-based sketches cannot do, the paper says: those of many sites together."""
        config = make(epsilon=0.02, merge_depth=1, model=model)
        rng = np.random.default_rng(0)
        items, ticks = zipf_items(20_000, 50, rng), np.sort(rng.integers(0, 5000, 20_000))
        if model == "time":
            sites = [ecm.EcmSketch(config) for _ in range(5)]
            for i, site in enumerate(sites):
                site.update_many(items[i::5], ticks[i::5])
            sketch = ecm.merge(sites)
        else:
            sketch = ecm.EcmSketch(config)
            sketch.update_many(items)
        for count in (1, 10, 250, 900):
            exact = np.bincount(items[-count:], minlength=50)
            found = sketch.estimate_many(np.arange(50), last_arrivals=count)
            assert (found.lower <= exact).all()
            assert (exact <= found.upper).all()
            assert (np.abs(found.value - exact) <= 2 * config.epsilon * count + 8).all()
            assert sketch.estimate(0, last_arrivals=count) == found[0]
        for wrong in (-1, 10**9, 1.5, True):
            with pytest.raises(QueryError, match="last_arrivals"):
                sketch.estimate(0, last_arrivals=wrong)
        with pytest.raises(QueryError, match="give one of"):
            sketch.estimate(0, last=5, last_arrivals=5)


class TestManners:
    def test_copies_are_equal_and_independent(self):
        sketch, _, _ = filled(make())
        for twin in (sketch.copy(), copy.copy(sketch), copy.deepcopy(sketch), pickle.loads(pickle.dumps(sketch))):
            assert twin == sketch
            twin.update("more", 6000)
            assert twin != sketch
        assert sketch != "a sketch"

    def test_only_reading_can_change_in_a_copy(self):
        with pytest.raises(ConfigError, match="window cannot change"):
            ecm.EcmSketch(make()).copy(window=5)

    def test_repr_says_what_it_is(self):
        sketch, _, _ = filled(make())
        assert repr(sketch).startswith(
            "EcmSketch(epsilon=0.1, delta=0.1, window=1000, counter='slices', model='time', now=4"
        )

    def test_estimates_are_numbers_with_bounds(self):
        answer = ecm.Estimate(5.0, 4.0, 6.0, 0.9)
        assert float(answer) == 5
        assert answer.covers(4)
        assert not answer.covers(3)
        assert str(answer) == "5 in [4, 6] with probability 0.9"
        sketch, _, _ = filled(make())
        many = sketch.estimate_many([1, 2, 3])
        assert len(many) == 3
        assert list(many)[1] == many[1] == sketch.estimate(2)

    def test_a_config_is_needed(self):
        with pytest.raises(ConfigError, match="SketchConfig"):
            ecm.EcmSketch(0.1)

    def test_unhashable(self):
        with pytest.raises(TypeError):
            hash(ecm.EcmSketch(make()))


@given(st.lists(st.integers(-(2**60), 2**60), min_size=1, max_size=30))
def test_any_ticks_can_be_counted(ticks):
    sketch = ecm.EcmSketch(make(window=2**40))
    sketch.update_many(["a"] * len(ticks), ticks)
    exact = sum(tick > max(ticks) - 2**40 for tick in ticks)
    assert sketch.estimate("a").covers(exact)


def test_cells_and_tables_are_what_answers_are_made_of():
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000)
    sketch = ecm.EcmSketch(config)
    sketch.update_many([n % 7 for n in range(500)], range(500))
    for asked in ({}, {"last": 100}, {"between": (100, 300)}):
        cells, table = sketch.cells(3, **asked), sketch.table(**asked)
        assert cells.value.shape == (config.depth,)
        assert table.value.shape == (config.depth, config.width)
        assert cells.value.min() == sketch.estimate(3, **asked).value
        assert table.lower.sum(axis=1).max() <= sketch.total(**asked).value <= table.upper.sum(axis=1).min()
        assert all(value in row for value, row in zip(cells.value, table.value, strict=True))
        every = sketch.read_cells(np.arange(config.cells), **asked)
        assert np.array_equal(every.value, table.value.ravel())
    for wrong in (np.array([config.cells]), np.array([-1]), np.array([0.5]), 3):
        with pytest.raises(QueryError, match="numbers: expected"):
            sketch.read_cells(wrong)
    assert sketch.first_tick == 0


def test_cells_and_tables_of_a_prefix_sketch():
    sketch = ecm.PrefixSketch(ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000), bits=16)
    assert sketch.first_tick is None
    sketch.update_many([n % 7 for n in range(500)], range(500))
    for level in range(len(sketch.config.levels)):
        assert sketch.table(level).upper.sum(axis=1).min() >= 500
    assert sketch.cells(3, last=100).value.min() == sketch.estimate(3, last=100).value
    with pytest.raises(QueryError, match="level: expected"):
        sketch.table(len(sketch.config.levels))
