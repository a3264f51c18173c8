"""Every format that workers read gives the same sketch, whole or filtered; no test here has a session."""

from __future__ import annotations

import gzip
import json
import pickle

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.feather as feather
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

import ecmsketch as ecm
from ecmsketch.errors import InputError
from ecmsketch.spark import file_splits
from ecmsketch.spark.column_roles import make_roles
from ecmsketch.spark.file_checks import check_files
from ecmsketch.spark.file_splits import find_splits
from ecmsketch.spark.files import sketch_splits
from ecmsketch.spark.recipe import Recipe

CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000)
ROWS = 500
LOG = pa.table(
    {
        "page": [f"/{n % 7}" for n in range(ROWS)],
        "tick": list(range(ROWS)),
        "zone": [f"z{n * 2 // ROWS}" for n in range(ROWS)],
        "status": [200 + 100 * (n % 4) for n in range(ROWS)],
    }
)


def write(folder, format):
    folder.mkdir()
    if format == "csv":
        pcsv.write_csv(LOG, folder / "log.csv")
    elif format == "jsonl":
        (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in LOG.to_pylist()))
    elif format == "jsonl.gz":
        text = "".join(json.dumps(row) + "\n" for row in LOG.to_pylist())
        (folder / "log.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    elif format == "orc":
        orc.write_table(LOG, folder / "log.orc")
    elif format in ("arrow", "feather"):
        feather.write_feather(LOG, folder / f"log.{format}")
    elif format == "delta":
        write_deltalake(folder, LOG, partition_by=["zone"])
    else:
        pq.write_table(LOG, folder / "log.parquet", row_group_size=100)
    return str(folder)


def sketch(path, where=None, format=None, item="page"):
    """The partial sketches of a log; splits and filters cross to workers as bytes."""
    splits = pickle.loads(pickle.dumps(find_splits(path, format)))
    roles = make_roles(CONFIG, item, "tick", "zone")
    return list(sketch_splits(splits, roles, Recipe(CONFIG, kind="t"), 0, pickle.loads(pickle.dumps(where))))


def events(pieces):
    return sum(piece.events for piece in pieces)


FORMATS = ["parquet", "csv", "jsonl", "jsonl.gz", "orc", "arrow", "feather", "delta"]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_gives_the_same_sketches(tmp_path, format):
    expected = sketch(write(tmp_path / "expected", "parquet"))
    path = write(tmp_path / "log", format)
    check_files(path, CONFIG, "page", "tick", "zone")
    found = sketch(path)
    assert events(found) == ROWS
    assert sorted(found, key=lambda piece: piece.site) == sorted(expected, key=lambda piece: piece.site)


@pytest.mark.parametrize("format", FORMATS)
def test_a_filter_by_a_column_that_is_no_role(tmp_path, format):
    path = write(tmp_path / "log", format)
    status = pc.field("status").cast("int64") if format == "csv" else pc.field("status")
    found = sketch(path, (status >= 400) & (pc.field("zone") == "z1"))
    expected = sum(row["status"] >= 400 and row["zone"] == "z1" for row in LOG.to_pylist())
    assert [(piece.site, piece.events) for piece in found] == [("z1", expected)]
    assert sketch(path, status > 900) == []


def test_a_filter_leaves_row_groups_unread(tmp_path):
    path = write(tmp_path / "log", "parquet")
    whole = (tmp_path / "log" / "log.parquet").read_bytes()
    group = pq.read_metadata(tmp_path / "log" / "log.parquet").row_group(0)
    begin = group.column(0).dictionary_page_offset
    broken = whole[:begin] + b"\xff" * group.column(0).total_compressed_size
    (tmp_path / "log" / "log.parquet").write_bytes(broken + whole[len(broken) :])
    assert events(sketch(path, pc.field("tick") >= 100)) == ROWS - 100
    with pytest.raises(InputError, match="cannot be read as parquet"):
        sketch(path)


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("status > 400", r"where: expected an expression such as .* got 'status > 400'"),
        (pc.field("nosuch") == 1, r"where: .* does not fit the columns: No match for FieldRef.*the columns are page"),
        (pc.field("status") == "x", r"where: .* does not fit the columns"),
        (pc.field("page"), r"where: page does not fit the columns: Filter expression must evaluate to bool"),
    ],
)
def test_filters_that_do_not_fit(tmp_path, where, says):
    path = write(tmp_path / "log", "parquet")
    with pytest.raises(InputError, match=says):
        check_files(path, CONFIG, "page", "tick", where=where)


def test_a_number_in_a_filter_of_csv_is_refused_with_the_way_to_cast(tmp_path):
    path = write(tmp_path / "log", "csv")
    with pytest.raises(InputError, match=r"CSV files are texts: .* field\('n'\)\.cast\('int64'\)"):
        check_files(path, CONFIG, "page", "tick", where=pc.field("status") == 400)


def test_deleted_rows_of_a_delta_table_do_not_count(tmp_path):
    path = write(tmp_path / "log", "delta")
    DeltaTable(path).delete("tick >= 50 and tick < 60")
    write_deltalake(path, LOG.slice(0, 5), mode="append")
    for format in (None, "delta"):
        assert events(sketch(path, format=format)) == ROWS - 10 + 5


def test_files_of_a_delta_table_that_lack_a_new_column(tmp_path):
    path = write(tmp_path / "log", "delta")
    more = LOG.slice(0, 5).append_column("host", pa.array(["h"] * 5))
    write_deltalake(path, more, mode="append", schema_mode="merge")
    found = sketch(path, item="host")
    assert events(found) == 5
    assert sum(piece.reasons.get("null item", 0) for piece in found) == ROWS


def test_what_is_no_delta_table(tmp_path):
    with pytest.raises(InputError, match="cannot be read as delta"):
        check_files(write(tmp_path / "log", "parquet"), CONFIG, "page", "tick", format="delta")


def test_lines_of_json_that_are_none(tmp_path):
    (tmp_path / "log.jsonl").write_text('{"page": "/a", "tick": 1}\nnonsense\n')
    with pytest.raises(InputError, match=r"log\.jsonl: cannot be read as json"):
        check_files(str(tmp_path), CONFIG, "page", "tick")


def test_a_comma_in_quotes_does_not_divide_a_header(tmp_path):
    (tmp_path / "log.csv").write_text('"page, or name", "tick" ,zone,"a ""b"""\n/a,1,z,x\n"/a,b",2,z,x\n')
    found = sketch(str(tmp_path), item="page, or name")
    assert events(found) == 2
    check_files(str(tmp_path), CONFIG, "page, or name", "tick", other=['a "b"'])


def test_row_groups_are_cut_and_read_once(tmp_path, monkeypatch):
    for format in ("parquet", "delta"):
        path = write(tmp_path / format, format)
        monkeypatch.setattr(file_splits, "SPLIT_BYTES", 1)
        assert len(find_splits(path, None)) == (5 if format == "parquet" else 2)
        assert events(sketch(path)) == ROWS
