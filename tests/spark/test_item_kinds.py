"""Sketches made on Spark know their items' kind, though the JVM hashes texts."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ecmsketch as ecm
from ecmsketch import spark as ecm_spark
from ecmsketch.errors import InputError, QueryError
from ecmsketch.monitor import Above, Frequency, Watch

CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000)


def sketch_in(rows):
    (row,) = rows.collect()
    return ecm.EcmSketch.deserialize(row["sketch"])


@pytest.mark.parametrize("names", [False, True])
def test_columns_of_a_data_frame(spark, names):
    events = spark.createDataFrame([("7", 7, 1), ("7", 7, 2)], "text string, number int, tick long")
    config = CONFIG.replace(heavy_hitters=names)
    for item, kind, asked in (("text", "t", "7"), ("number", "i", 7), (["text", "number"], "ti", ("7", 7))):
        sketch = sketch_in(ecm_spark.build_sketches(events, config, item, "tick"))
        assert sketch.kinds == {kind}
        assert sketch.estimate(asked).value == 2
        with pytest.raises(QueryError, match="kind"):
            sketch.estimate(7 if kind == "t" else "7")


def test_files(spark, tmp_path):
    (tmp_path / "log.csv").write_text("item,tick\n28487,1\n28487,2\n")
    pq.write_table(pa.table({"item": [28487], "tick": [3]}), tmp_path / "log.parquet")
    texts, numbers = (
        sketch_in(ecm_spark.build_sketches_from_files(spark, str(tmp_path / name), CONFIG, "item", "tick"))
        for name in ("log.csv", "log.parquet")
    )
    assert (texts.kinds, numbers.kinds) == ({"t"}, {"i"})
    assert (texts.estimate("28487").value, numbers.estimate(28487).value) == (2, 1)


def test_files_of_different_kinds_are_refused(spark, tmp_path):
    pq.write_table(pa.table({"item": ["7"], "tick": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"item": [7], "tick": [2]}), tmp_path / "b.parquet")
    with ecm_spark.spark_errors(), pytest.raises(Exception, match=r"expected items of kind text.* got integer"):
        ecm_spark.build_sketches_from_files(spark, str(tmp_path), CONFIG, "item", "tick", tasks=1).collect()


def test_a_monitor_of_a_number_in_a_column_of_texts_is_refused(spark, tmp_path):
    events = spark.readStream.format("rate").load()
    events = events.selectExpr("cast(value as string) as item", "timestamp as tick", "'a' as site")
    config = CONFIG.replace(unit="s", late="side")
    watch = Watch(Frequency(7), Above(3), 100, config, balance="eager")
    with pytest.raises(InputError, match=r"7 is of kind integer, but 'item' holds items of kind text"):
        ecm_spark.monitor_sites(events, watch, "item", "tick", "site", folder=str(tmp_path), name="never")
