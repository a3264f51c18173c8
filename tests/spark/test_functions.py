"""Sketches in SQL."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import ecmsketch as ecm
from ecmsketch import spark as ecm_spark
from ecmsketch.errors import InputError
from ecmsketch.spark import sql_functions


@pytest.fixture(scope="module")
def sketches():
    config = ecm.SketchConfig(epsilon=0.02, delta=0.02, window=1000, heavy_hitters=True)
    rng = np.random.default_rng(0)
    made = []
    for _ in range(2):
        sketch = ecm.EcmSketch(config)
        sketch.update_many([f"item {n}" for n in rng.zipf(1.5, 2000) % 50], np.sort(rng.integers(1, 1001, 2000)))
        made.append(sketch)
    prefix = ecm.PrefixSketch(config.replace(heavy_hitters=False), bits=10)
    prefix.update_many(np.arange(2000) % 700, 1 + np.arange(2000) // 2)
    return [*made, prefix]


@pytest.fixture(scope="module")
def sql(spark, sketches):
    ecm_spark.register_functions(spark)
    one, two, prefix = (sketch.serialize() for sketch in sketches)
    rows = [(1, one, two, prefix, "item 1"), (2, two, one, prefix, "item 2"), (3, None, one, None, None)]
    spark.createDataFrame(rows, "id int, a binary, b binary, p binary, item string").createOrReplaceTempView("sketches")

    def ask(question):
        return [tuple(row) for row in spark.sql(question).collect()]

    return ask


def test_estimates(sql, sketches):
    one, two, prefix = sketches
    asked = sql(
        "select ecm_sketch_estimate(a, item), ecm_sketch_estimate(a, item, 100), ecm_sketch_estimate_lower(a, item), "
        "ecm_sketch_estimate_upper(a, item, 100), ecm_sketch_estimate(p, id) from sketches order by id"
    )
    for row, sketch, item, number in ((asked[0], one, "item 1", 1), (asked[1], two, "item 2", 2)):
        assert row == (
            sketch.estimate(item).value, sketch.estimate(item, last=100).value, sketch.estimate(item).lower,
            sketch.estimate(item, last=100).upper, prefix.estimate(number).value,
        )  # fmt: skip
    assert asked[2] == (None,) * 5


def test_whole_sketches(sql, sketches):
    one, two, prefix = sketches
    asked = sql(
        "select ecm_sketch_get_n(a), ecm_sketch_get_n(a, 100), ecm_sketch_self_join(a), ecm_sketch_self_join(a, 100), "
        "ecm_sketch_inner_product(a, b), ecm_sketch_to_string(a), ecm_sketch_get_quantile(p, 0.5), "
        "ecm_sketch_get_quantile(p, 0.9, 100), ecm_sketch_get_rank(p, 100) from sketches order by id"
    )
    assert asked[0] == (
        one.total().value, one.total(last=100).value, one.self_join().value, one.self_join(last=100).value,
        one.inner_product(two).value, repr(ecm.load(one.serialize())), prefix.quantile(0.5).value,
        prefix.quantile(0.9, last=100).value, prefix.rank(100).value,
    )  # fmt: skip
    assert asked[2] == (None,) * 9


def test_unions(sql, sketches):
    one, two, _ = sketches
    ((both, none),) = sql("select ecm_union(a, b), ecm_union(a, null) from sketches where id = 1")
    assert ecm.load(both).total().covers(4000)
    assert none is None
    ((data,),) = sql("select ecm_union_agg(a) from sketches")
    expected = ecm.merge([one, two])
    assert ecm.load(data).estimate("item 1") == expected.estimate("item 1")
    assert sql("select ecm_union_agg(a) from sketches where id = 3") == [(None,)]


def test_slices_answer_and_unite_too(spark, sketches):
    ecm_spark.register_functions(spark)
    config = sketches[0].config.replace(counter="slices", resolution=0.4)
    rng, one = np.random.default_rng(1), ecm.EcmSketch(config)
    prefix = ecm.PrefixSketch(config.replace(heavy_hitters=False), bits=10)
    ticks = np.sort(rng.integers(1, 1001, 5000))
    one.update_many(rng.zipf(1.5, 5000) % 50, ticks)
    prefix.update_many(np.arange(5000) % 700, ticks)
    rows = [(one.serialize(), prefix.serialize())]
    asked = spark.createDataFrame(rows, "a binary, p binary").selectExpr(
        "ecm_sketch_estimate(a, 1, 300)", "ecm_sketch_get_n(a, 300)", "ecm_sketch_self_join(a, 300)",
        "ecm_sketch_inner_product(a, a)", "ecm_sketch_get_quantile(p, 0.5)", "ecm_sketch_get_rank(p, 100)",
        "ecm_sketch_to_string(a)", "ecm_union(a, a)",
    )  # fmt: skip
    ((*answers, both),) = asked.collect()
    assert answers == [
        one.estimate(1, last=300).value, one.total(last=300).value, one.self_join(last=300).value,
        one.inner_product(one).value, prefix.quantile(0.5).value, prefix.rank(100).value,
        repr(ecm.load(one.serialize())),
    ]  # fmt: skip
    assert ecm.load(both).total().value == 10_000


def test_heavy_hitters(sql, sketches):
    asked = sql("select id, h.* from sketches, lateral ecm_heavy_hitters(a, 0.1) h order by id, estimate desc")
    expected = [
        (i + 1, hitter.item, hitter.estimate.value, hitter.estimate.lower, hitter.estimate.upper)
        for i in range(2)
        for hitter in sketches[i].heavy_hitters(0.1)
    ]
    assert asked == expected
    assert len(sql("select * from sketches, lateral ecm_heavy_hitters(a, 0.1, 100) h")) > 0
    assert sql("select h.* from sketches, lateral ecm_heavy_hitters(p, 0.5) h") == []


def test_aggregates(sql, in_order, one_process, make_config):
    in_order.createOrReplaceTempView("events")
    asked = sql(
        "select site, ecm_sketch_agg(page, tick, 0.05, 0.05, 20000), "
        "ecm_sketch_agg(page, tick, 0.05, 0.05, 20000, weight, 'heavy_hitters=true, seed=3'), "
        "ecm_sketch_agg(page, tick, 0.05, 0.05, 20000, 'counter=slices,resolution=0.2') from events group by site"
    )
    assert len(asked) == 3
    for site, plain, named, sliced in asked:
        assert ecm.load(sliced) == one_process(make_config(counter="slices", resolution=0.2), site)
        assert ecm.load(plain) == one_process(make_config(), site)
        config = make_config(heavy_hitters=True, seed=3)
        assert ecm.load(named) == one_process(config, site, weight="weight")
    ((empty,),) = sql("select ecm_sketch_agg(cast(null as string), tick, 0.1, 0.1, 100) from events")
    assert ecm.load(empty).is_empty


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("select ecm_sketch_estimate(cast('abc' as binary), 'x')", "row 0 of a batch of sketches: .*truncated"),
        ("select ecm_sketch_get_n(a, 5000) from sketches where id = 1", r"expected 0 to 1000 \(the window\)"),
        ("select ecm_sketch_get_quantile(a, 0.5) from sketches where id = 1", "expected a PrefixSketch"),
        ("select ecm_sketch_self_join(p) from sketches where id = 1", "expected an EcmSketch"),
        ("select * from sketches, lateral ecm_heavy_hitters(a, 7) h", "share phi above 0"),
        ("select ecm_sketch_agg(item, id, 0.1, 0.1, 10, 'nonsense=1') from sketches", "expected field=value"),
        ("select ecm_sketch_agg(item, id, 9, 0.1, 10) from sketches", "epsilon: expected a number"),
        ("select ecm_sketch_get_n(a, 5, 6) from sketches", "expected ecm_sketch_get_n"),
        ("select ecm_union_agg(a, b) from sketches", "got 2 arguments"),
        ("select * from sketches, lateral ecm_heavy_hitters(a) h", "got 1 arguments"),
        ("select ecm_sketch_agg(item, id, id / 10, 0.1, 10) from sketches", "epsilon must be the same in all rows"),
        ("select ecm_sketch_agg(item, id, 0.1, 0.1, id * 10) from sketches", "window must be the same in all rows"),
    ],
)
def test_errors_say_what_is_wrong(sql, question, says):
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException, match=says):
        sql(question)


FEW = pa.array([1, 2])
TEXT = pa.array(["x", "y"])
BYTES = pa.array([b"", b""])


@pytest.mark.parametrize(
    ("name", "columns", "says"),
    [
        ("ecm_sketch_get_n", [], r"expected ecm_sketch_get_n\(sketch\[, last\]\), got 0 arguments"),
        ("ecm_sketch_get_n", [BYTES, FEW, FEW], "got 3 arguments"),
        ("ecm_sketch_get_n", [TEXT], "sketch: expected binary, got string; the call is"),
        ("ecm_sketch_get_n", [BYTES, TEXT], "last: expected integer, got string"),
        ("ecm_sketch_estimate", [BYTES], r"expected ecm_sketch_estimate\(sketch, item\[, last\]\), got 1"),
        ("ecm_sketch_estimate_upper", [BYTES, pa.array([0.5, 0.5])], "item: expected string or binary or integer"),
        ("ecm_sketch_estimate_lower", [FEW, FEW], "sketch: expected binary, got int64"),
        ("ecm_sketch_get_quantile", [BYTES, TEXT], "q: expected number, got string"),
        ("ecm_sketch_get_rank", [BYTES, TEXT], "x: expected integer, got string"),
        ("ecm_sketch_inner_product", [BYTES], r"expected ecm_sketch_inner_product\(a, b\[, last\]\)"),
        ("ecm_sketch_to_string", [FEW], "sketch: expected binary"),
        ("ecm_union", [BYTES, FEW], "b: expected binary, got int64"),
    ],
)
def test_wrong_arguments_are_named(spark, name, columns, says):
    function = sql_functions._scalar_functions()[name].func
    with pytest.raises(InputError, match=says):
        function(*columns)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ([TEXT, FEW, FEW], "got 3 arguments"),
        ([TEXT, FEW, FEW, FEW, FEW, FEW, TEXT, FEW], "got 8 arguments"),
        ([TEXT, FEW, pa.array([0.1, 0.2]), pa.array([0.1, 0.1]), pa.array([9, 9])], "epsilon must be the same"),
        ([TEXT, FEW, pa.array([None, None]), pa.array([0.1, 0.1]), pa.array([9, 9])], "epsilon must not be null"),
        ([TEXT, FEW, *[pa.array([0.1, 0.1])] * 2, pa.array([9, 9]), TEXT], "options must be the same"),
        ([TEXT, FEW, *[pa.array([0.1, 0.1])] * 2, pa.array([9, 9]), FEW, FEW], "weight is given twice"),
        ([TEXT, TEXT, *[pa.array([0.1, 0.1])] * 2, pa.array([9, 9])], "tick: expected integer or timestamp"),
        ([TEXT, FEW, TEXT, TEXT, TEXT], "epsilon: expected number, got string"),
        ([pa.array([0.5, 0.5]), FEW, *[pa.array([0.1, 0.1])] * 2, pa.array([9, 9])], "item: expected string"),
        ([TEXT, FEW, *[pa.array([0.1, 0.1])] * 2, pa.array([9, 9]), pa.array([0.5, 1])], "weight: expected integer"),
    ],
)
def test_wrong_arguments_of_the_aggregate_are_named(columns, says):
    with pytest.raises(InputError, match=says):
        sql_functions._sketch_agg(*columns)


def test_wrong_arguments_of_the_other_functions_are_named():
    with pytest.raises(InputError, match="sketch: expected binary, got int64"):
        sql_functions._union_agg(FEW)
    with pytest.raises(InputError, match="got 2 arguments"):
        sql_functions._union_agg(BYTES, BYTES)
    for arguments, says in (
        (("x", 0.1), "sketch: expected binary, got str"),
        ((b"x", "y"), "phi: expected number"),
        ((b"x",), "got 1 arguments"),
    ):
        with pytest.raises(InputError, match=says):
            list(sql_functions._HeavyHitters().eval(*arguments))


def test_options_are_truths_numbers_and_texts():
    given = "heavy_hitters=true, counter=slices,resolution=0.05 ,seed=7,unit=s,late=side"
    settings = {"heavy_hitters": True, "counter": "slices", "resolution": 0.05, "seed": 7, "unit": "s", "late": "side"}
    assert sql_functions._options(given) == settings
