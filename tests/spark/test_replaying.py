"""What the replay source plays, without a session: the reader is asked as Spark would ask it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import DateType, TimestampNTZType, TimestampType

import ecmsketch as ecm
from ecmsketch import spark as ecm_spark
from ecmsketch.errors import InputError
from ecmsketch.spark import replay_source
from ecmsketch.spark.replay_source import ReplaySource

BEGIN = datetime(2026, 6, 1, 12, tzinfo=UTC)
SECONDS = [0, 1, 2, 5, 5, 9, 30, 86_400]
ROWS = range(len(SECONDS))


def moments(kind):
    """The ticks of a log, in one of Parquet's types of time."""
    if pa.types.is_date(kind):
        return pa.array([date(2026, 6, 1) + timedelta(days=row) for row in ROWS], kind)
    times = [BEGIN + timedelta(seconds=second) for second in SECONDS]
    return pa.array([time if kind.tz else time.replace(tzinfo=None) for time in times], kind)


KINDS = [
    *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Asia/Tokyo")),
    pa.date32(),
    pa.date64(),
]  # fmt: skip


def source(path, **options):
    return ReplaySource({"path": str(path), "tick": "tick", **options})


def reader_of(path, **options):
    found = source(path, **options)
    return found.streamReader(found.schema())


def play(reader, *stops):
    """The row numbers of each trigger, from the beginning through some offsets to the end."""
    offsets = [reader.initialOffset(), *({"tick": stop} for stop in stops), {"tick": reader.last}]
    played = []
    for start, end in pairwise(offsets):
        batches = [batch for piece in reader.partitions(start, end) for batch in reader.read(piece)]
        played.append(sorted(row for batch in batches for row in batch.column("row").to_pylist()))
    return played


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_times_of_every_kind(tmp_path, kind, statistics):
    ticks = moments(kind)
    table = pa.table({"row": pa.array(ROWS, pa.int64()), "tick": ticks})
    for i in range(0, len(SECONDS), 3):
        part = table.slice(i, 3)
        pq.write_table(part, tmp_path / f"{i}.parquet", row_group_size=2, write_statistics=statistics)
    reader = reader_of(tmp_path)
    assert reader.last > reader.first
    middle = reader.first + (86_400 * 10**9 if pa.types.is_date(kind) else 5 * 10**9)
    first, second = play(reader, middle)
    assert first == ([0, 1] if pa.types.is_date(kind) else [0, 1, 2, 3, 4])
    assert first + second == list(ROWS)
    schema = source(tmp_path).schema()
    zoned = not pa.types.is_date(kind) and kind.tz is not None
    expected = DateType() if pa.types.is_date(kind) else TimestampType() if zoned else TimestampNTZType()
    assert schema["tick"].dataType == expected
    (piece, *_) = reader.partitions(reader.initialOffset(), {"tick": reader.last})
    (batch, *_) = reader.read(piece)
    assert batch.schema.field("tick").type in (pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"))
    assert batch.column("tick")[0].cast(pa.int64() if not pa.types.is_date(kind) else pa.int32()).as_py() == (
        (date(2026, 6, 1) - date(1970, 1, 1)).days if pa.types.is_date(kind) else int(BEGIN.timestamp()) * 10**6
    )


def test_speed_is_in_seconds_of_the_log(tmp_path, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(replay_source.time, "monotonic", lambda: clock[0])
    for name, ticks, options, second in (
        ("times", moments(pa.timestamp("ms")), {}, 10**9),
        ("millis", pa.array([1000 * second for second in SECONDS]), {"unit": "ms"}, 1000),
        ("ticks", pa.array(SECONDS), {}, 1),
    ):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"row": pa.array(ROWS, pa.int64()), "tick": ticks}), tmp_path / name / "a.parquet")
        reader = reader_of(tmp_path / name, speed="2", **options)
        start = reader.initialOffset()
        offset = reader.latestOffset(start, ReadAllAvailable())
        assert offset["tick"] == reader.first  # the first tick is due at once: no empty trigger
        assert [
            row
            for piece in reader.partitions(start, offset)
            for b in reader.read(piece)
            for row in b["row"].to_pylist()
        ] == [0]
        clock[0] += 2.5
        assert reader.latestOffset(offset, ReadAllAvailable())["tick"] == reader.first + 5 * second
        clock[0] += 10**6
        assert reader.latestOffset(offset, ReadAllAvailable())["tick"] == reader.last
    with pytest.raises(InputError, match="unit expects one of"):
        reader_of(tmp_path / "ticks", unit="parsec")


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.timestamp("us", "UTC"), pa.date32()], ids=str)
def test_rows_without_a_tick_are_played_once(tmp_path, kind, statistics):
    some = [10, None, 30, None, 50]
    none = [None, None]
    for name, values in (("a", some), ("b", none), ("c", [20, 40])):
        ticks = pa.array(values, pa.int32() if pa.types.is_date(kind) else pa.int64()).cast(kind)
        rows = pa.array([f"{name}{i}" for i in range(len(values))])
        pq.write_table(
            pa.table({"row": rows, "tick": ticks}), tmp_path / f"{name}.parquet", write_statistics=statistics
        )
    reader = reader_of(tmp_path)
    quarter = (reader.last - reader.first) // 4
    played = play(reader, *(reader.first + i * quarter for i in range(4)))
    assert played == [["a0", "a1", "a3", "b0", "b1"], ["c0"], ["a2"], ["c1"], ["a4"]]


def test_a_log_without_any_tick(tmp_path):
    pq.write_table(pa.table({"row": [1, 2], "tick": pa.array([None, None], pa.int64())}), tmp_path / "a.parquet")
    assert play(reader_of(tmp_path)) == [[1, 2]]


def test_files_whose_types_differ_and_columns_beside_nested_ones(tmp_path):
    rng = np.random.default_rng(0)
    for name, kind in (("a", pa.timestamp("ms")), ("b", pa.timestamp("ns")), ("c", pa.timestamp("s"))):
        nested = pa.array([{"tick": int(number), "y": 1} for number in rng.integers(0, 99, len(SECONDS))])
        table = pa.table({"deep": nested, "row": pa.array(ROWS, pa.int64()), "tick": moments(kind)})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    first, rest = play(reader_of(tmp_path), reader_of(tmp_path).first + 10**9)
    assert first == sorted([0, 1] * 3)
    assert len(first + rest) == 3 * len(SECONDS)


def test_times_far_away_and_before_1970(tmp_path):
    values = pa.array([-(2**50), -1, 0, 2**50], pa.int64())
    pq.write_table(pa.table({"row": [0, 1, 2, 3], "tick": values.cast(pa.timestamp("us"))}), tmp_path / "a.parquet")
    assert play(reader_of(tmp_path), -1000, -999) == [[0, 1], [], [2, 3]]
    (tmp_path / "n").mkdir()
    values = pa.array([-1, 0, 1999], pa.int64())
    pq.write_table(pa.table({"row": [0, 1, 2], "tick": values.cast(pa.timestamp("ns"))}), tmp_path / "n" / "a.parquet")
    reader = reader_of(tmp_path / "n")
    (piece,) = reader.partitions(reader.initialOffset(), {"tick": reader.last})
    (batch,) = reader.read(piece)
    assert pc.cast(batch.column("tick"), pa.int64()).to_pylist() == [-1, 0, 1]  # rounded down, as everywhere


@pytest.mark.parametrize("values", [["x"], [1.5], [True]])
def test_a_column_that_is_no_time(tmp_path, values):
    pq.write_table(pa.table({"row": [1], "tick": values}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"expected a column 'tick' of integers, timestamps or dates, got"):
        reader_of(tmp_path)


def test_a_stream_of_timestamps_is_sketched_and_what_has_no_tick_is_counted(spark, tmp_path):
    ecm_spark.register_sources(spark)
    ecm_spark.use_rocksdb(spark)
    times = [None, *(BEGIN + timedelta(seconds=second) for second in SECONDS)]
    table = pa.table({"item": ["a"] * len(times), "tick": pa.array(times, pa.timestamp("ns", "UTC"))})
    pq.write_table(table, tmp_path / "log.parquet")
    events = spark.readStream.format("replay").option("tick", "tick").load(str(tmp_path / "log.parquet"))
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=10**6, unit="s", late="side")
    sketches = ecm_spark.stream_sketches(events, config, "item", "tick")
    writer = sketches.writeStream.queryName("times").outputMode("update").format("memory")
    writer.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True).start().awaitTermination()
    rows = spark.sql("select * from times").collect()
    assert {(row["events"], row["now"]) for row in rows if row["sketch"] is not None} == {
        (len(SECONDS), int(BEGIN.timestamp()) + 86_400)
    }
    assert sum(row["reasons"].get("null tick", 0) for row in rows) == 1
