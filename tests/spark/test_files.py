"""Workers that read the files themselves."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

import ecmsketch as ecm
from ecmsketch import spark as ecm_spark
from ecmsketch.errors import InputError, StoreError
from ecmsketch.spark import csv_lines, file_splits
from ecmsketch.spark.column_roles import Roles
from ecmsketch.spark.file_reading import read_events
from ecmsketch.store import SketchRow, SketchStore

SITES = ("athens", "berlin", "cairo")


def built(frame):
    return {row["site"]: row for row in frame.collect()}


def test_parquet_in_one_task_gives_the_very_sketch_of_one_process(spark, log, make_config, one_process):
    for item in ("page", "number", ("page", "port")):
        for heavy_hitters in (False, True):
            config = make_config(heavy_hitters=heavy_hitters)
            rows = built(ecm_spark.build_sketches_from_files(spark, str(log), config, item, "tick", "site", tasks=1))
            for site in SITES:
                assert bytes(rows[site]["sketch"]) == one_process(config, site, item=item).serialize()


def test_parquet_over_tasks_adds_no_error(spark, log, make_config, check):
    rows = built(ecm_spark.build_sketches_from_files(spark, str(log), make_config(), "page", "tick", "site", tasks=4))
    for site in SITES:
        sketch = ecm.load(rows[site]["sketch"])
        assert sketch.merge_levels == 0
        check(sketch, site)


@pytest.mark.parametrize("counter", ["eh", "slices"])
def test_the_same_files_built_with_other_tasks_are_not_stored_twice(spark, log, make_config, check, tmp_path, counter):
    store = SketchStore(tmp_path / "store")
    config = make_config(counter=counter, resolution=0.2 if counter == "slices" else None)
    first, second = (
        ecm_spark.build_sketches_from_files(spark, str(log), config, "page", "tick", "site", tasks=tasks).collect()
        for tasks in (1, 4)
    )
    for row in second:
        assert ecm.load(row["sketch"]).merge_levels == 0
        check(ecm.load(row["sketch"]), row["site"])
    store.append(SketchRow(row["site"], bytes(row["sketch"]), row["events"]) for row in first)
    assert sorted(bytes(row["sketch"]) for row in first) != sorted(bytes(row["sketch"]) for row in second)
    with pytest.raises(StoreError, match=r"site 'athens': the segment from tick .* counted twice"):
        store.append(SketchRow(row["site"], bytes(row["sketch"]), row["events"]) for row in second)


@pytest.mark.parametrize("compressed", [False, True])
def test_csv_cut_anywhere(spark, stream, tmp_path, make_config, check, compressed, monkeypatch):
    monkeypatch.setattr(file_splits, "SPLIT_BYTES", 100_001)
    pcsv.write_csv(pa.table({name: stream[name] for name in ("tick", "page", "site")}), tmp_path / "log.csv")
    if compressed:
        (tmp_path / "log.csv.gz").write_bytes(gzip.compress((tmp_path / "log.csv").read_bytes()))
        (tmp_path / "log.csv").unlink()
    splits = file_splits.find_splits(str(tmp_path), None)
    assert len(splits) == 1 if compressed else len(splits) > 10
    rows = built(ecm_spark.build_sketches_from_files(spark, str(tmp_path), make_config(), "page", "tick", "site"))
    assert sum(row["events"] for row in rows.values()) == 60_000
    for site in SITES:
        check(ecm.load(rows[site]["sketch"]), site)


def test_every_line_is_read_once_wherever_csv_is_cut(tmp_path, monkeypatch):
    text = "tick,item\n" + "".join(f"{i},{'x' * (i % 17)}{i}\n" for i in range(300)) + "300,last"
    path = tmp_path / "a.csv"
    path.write_text(text)
    monkeypatch.setattr(csv_lines, "BLOCK_BYTES", 37)
    for size in (11, 50, 64, 1000, 10**6):
        monkeypatch.setattr(file_splits, "SPLIT_BYTES", size)
        lines = b"".join(
            block if block.endswith(b"\n") else block + b"\n"
            for split in file_splits.find_splits(str(path), None)
            for block in csv_lines.read_lines(split.path, split.begin, split.end)
        )
        assert lines.decode() == text.split("\n", 1)[1] + "\n"


def test_bad_lines_and_values_are_counted(spark, tmp_path, make_config):
    (tmp_path / "log.csv").write_text(
        "tick,page,site\n1,/a,x\nnonsense\n2,/a,x\nsoon,/b,x\n3,/c,\n,/d,x\n4,/e,x,extra\n5,,x\n"
    )
    rows = built(ecm_spark.build_sketches_from_files(spark, str(tmp_path), make_config(), "page", "tick", "site"))
    assert rows["x"]["events"] == 2
    assert rows["x"]["reasons"] == {"null item": 1, "null tick": 2}
    assert rows[None]["reasons"] == {"malformed row": 2, "null site": 1}


def test_worldcup_logs(spark, tmp_path, make_config, shared_data):
    config = make_config(window=10**6)
    found = ecm_spark.build_sketches_from_files(
        spark, [str(shared_data / "wc98" / "test_log.gz")], config, "object", "timestamp", "server", format="worldcup98"
    ).collect()
    assert sum(row["events"] for row in found) == 1000
    assert len(found) == 3
    ecm_spark.register_sources(spark)
    frame = spark.read.format("worldcup98").load(str(shared_data / "wc98" / "test_log.gz"))
    again = {
        row["site"]: row for row in ecm_spark.build_sketches(frame, config, "object", "timestamp", "server").collect()
    }
    for row in found:
        assert bytes(again[row["site"]]["sketch"]) == bytes(row["sketch"])


def test_a_delta_table_with_a_filter(spark, stream, tmp_path, make_config, one_process):
    write_deltalake(tmp_path, pa.table(stream))
    where = pc.field("site") == "athens"
    (row,) = ecm_spark.build_sketches_from_files(
        spark, str(tmp_path), make_config(), "page", "tick", "site", format="delta", where=where, tasks=1
    ).collect()
    assert row["site"] == "athens"
    assert bytes(row["sketch"]) == one_process(make_config(), "athens").serialize()


def test_timestamps_and_dictionaries_in_parquet(spark, tmp_path):
    moments = np.array(["2026-01-01T00:00:00.5", "1969-12-31T23:59:59.5", "NaT"], "M8[us]")
    table = pa.table({"at": moments, "item": pa.array(["a", "b", "a"]).dictionary_encode()})
    pq.write_table(table, tmp_path / "x.parquet")
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=10**10, unit="s")
    (row,) = ecm_spark.build_sketches_from_files(spark, str(tmp_path), config, "item", "at", ahead=None).collect()
    assert (row["first_tick"], row["last_tick"], row["reasons"]) == (-1, 1767225600, {"null tick": 1})


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Batches of one big row group are read one after the other: never the 96 MB that its columns have."""
    count = 6_000_000
    table = pa.table({"item": np.arange(count) % 1000, "tick": np.arange(count)})
    pq.write_table(table, tmp_path / "big.parquet", row_group_size=count)
    del table
    (split,) = file_splits.find_splits(str(tmp_path), None)
    before, most, rows = pa.total_allocated_bytes(), 0, 0
    for events in read_events(split, Roles(["item"], "tick", None, None, None, False)):
        most, rows = max(most, pa.total_allocated_bytes() - before), rows + len(events.ticks)
    assert rows == count
    assert 0 < most < 50_000_000


class TestRefusals:
    def test_paths(self, spark, tmp_path, make_config):
        def build(path, **more):
            return ecm_spark.build_sketches_from_files(spark, str(path), make_config(), "a", "b", **more).collect()

        with pytest.raises(InputError, match="no such file"):
            build(tmp_path / "nothing")
        with pytest.raises(InputError, match="there are no files"):
            build(tmp_path)
        (tmp_path / "x.parquet").write_bytes(b"this is no parquet")
        with pytest.raises(InputError, match=r"x\.parquet: cannot be read as parquet"):
            build(tmp_path)
        with pytest.raises(InputError, match="format: expected one of"):
            build(tmp_path, format="xml")

    def test_columns(self, spark, log, make_config):
        with pytest.raises(InputError, match="there is no column 'nope'; the columns are number, page"):
            ecm_spark.build_sketches_from_files(spark, str(log), make_config(), "nope", "tick")
