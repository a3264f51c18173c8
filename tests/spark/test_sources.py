"""The World Cup log as a data source, and generated logs."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from ecmsketch import spark as ecm_spark
from ecmsketch import worldcup98
from ecmsketch.errors import InputError
from ecmsketch.generate import SnmpLog, WorldCupLog


@pytest.fixture(scope="module")
def read(spark):
    ecm_spark.register_sources(spark)
    return lambda path, **options: spark.read.format("worldcup98").options(**options).load(str(path))


def test_the_real_samples(read, shared_data, tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    plain = gzip.decompress((shared_data / "wc98" / "test_log.gz").read_bytes())
    (folder / "a").write_bytes(plain)
    (folder / "b.gz").write_bytes((shared_data / "wc98" / "test_log.gz").read_bytes())
    (folder / "_SUCCESS").write_bytes(b"")
    frame = read(folder)
    assert frame.count() == 2000
    assert frame.rdd.getNumPartitions() == 2
    rows = read(folder / "a").collect()
    columns = worldcup98.to_columns(np.frombuffer(plain, worldcup98.RECORD))
    for name in ("timestamp", "client", "object", "size", "method", "status", "type", "server"):
        assert [row[name] for row in rows] == columns[name].tolist()
    server = rows[0]["server"]
    chosen = read(folder / "a", servers=str(server), since=str(rows[100]["timestamp"]))
    expected = [row for row in rows if row["server"] == server and row["timestamp"] >= rows[100]["timestamp"]]
    assert chosen.count() == len(expected)
    assert read(folder / "a").count() == 1000  # options of one use do not leak into another


def test_bad_logs(read, tmp_path):
    from pyspark.errors import PySparkException

    (tmp_path / "cut").write_bytes(b"\x00" * 30)
    with pytest.raises(PySparkException, match=r"left over|truncated|cut"):
        read(tmp_path / "cut").count()
    with pytest.raises(PySparkException, match="no such file"):
        read(tmp_path / "nothing").count()
    with pytest.raises(PySparkException, match="expects whole numbers"):
        read(tmp_path / "cut", servers="x").count()


def test_generated_logs_are_the_same_in_both_formats_and_say_so(spark, read, tmp_path):
    log = WorldCupLog(30_000, seed=3)
    assert ecm_spark.write_generated(spark, log, str(tmp_path / "p")) == 30_000
    ecm_spark.write_generated(spark, log, str(tmp_path / "b"), "worldcup98")
    ecm_spark.write_generated(spark, log, str(tmp_path / "u"), "worldcup98", compress=False)
    columns = ["timestamp", "client", "object", "size", "method", "status", "type", "server"]
    expected = worldcup98.to_columns(np.concatenate([log.slice(i) for i in range(log.slices)]))
    for frame in (spark.read.parquet(str(tmp_path / "p")), read(tmp_path / "b"), read(tmp_path / "u")):
        found = frame.select(*columns).toPandas().sort_values(columns)
        made = np.lexsort([expected[name] for name in reversed(columns)])
        for name in columns:
            assert (found[name].to_numpy() == expected[name][made]).all()
    label = json.loads((tmp_path / "b" / ecm_spark.LABEL).read_text())
    assert label["generated"] is True
    assert label["what"].startswith("generated")
    with pytest.raises(InputError, match="exists already"):
        ecm_spark.write_generated(spark, log, str(tmp_path / "b"))
    with pytest.raises(InputError, match="format"):
        ecm_spark.write_generated(spark, SnmpLog(10), str(tmp_path / "s"), "worldcup98")


def test_a_generated_log_does_not_depend_on_the_tasks(spark):
    log = SnmpLog(600_000, seed=1)
    one, three = (ecm_spark.generated_events(spark, log, tasks).toPandas() for tasks in (1, 3))
    assert len(one) == 600_000
    assert one.equals(three)
