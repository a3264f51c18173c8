"""Paths, columns and their types are checked before Spark starts: no test here has a session."""

from __future__ import annotations

import gzip
from contextlib import suppress
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ecmsketch as ecm
from ecmsketch.errors import InputError
from ecmsketch.inputs.ticks import UNITS, to_tick
from ecmsketch.spark.column_roles import Roles
from ecmsketch.spark.event_parsing import tick_column
from ecmsketch.spark.file_checks import check_files
from ecmsketch.spark.file_splits import find_splits
from ecmsketch.spark.files import sketch_splits
from ecmsketch.spark.recipe import Recipe

CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000, unit="s")
COLUMNS = {
    "text": ["a", "b"],
    "number": [1, 2],
    "small": pa.array([1, 2], pa.int16()),
    "real": [1.5, 2.5],
    "truth": [True, False],
    "when": [datetime(2026, 6, 1), datetime(2026, 6, 2)],
    "day": [date(2026, 6, 1), date(2026, 6, 2)],
    "bytes": [b"a", b"b"],
    "category": pa.array(["a", "b"]).dictionary_encode(),
    "list": [[1], [2]],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    pq.write_table(pa.table(COLUMNS), folder / "a.parquet")
    return folder


@pytest.mark.parametrize(
    ("roles", "says"),
    [
        ({"item": "text", "tick": "number"}, None),
        ({"item": ["text", "number"], "tick": "when", "site": "small", "weight": "small"}, None),
        ({"item": "bytes", "tick": "day", "site": "category"}, None),
        ({"item": "category", "tick": "small"}, None),
        ({"item": "number", "tick": "number", "bits": 8}, None),
        ({"item": "nosuch", "tick": "number"}, "item nosuch: there is no column 'nosuch'; the columns are bytes"),
        ({"item": "text", "tick": "nosuch"}, "tick: there is no column"),
        ({"item": "text", "tick": "number", "site": "nosuch"}, "site: there is no column"),
        ({"item": "text", "tick": "number", "weight": "nosuch"}, "weight: there is no column"),
        ({"item": "text", "tick": "number", "other": ["nosuch"]}, "nosuch: there is no column"),
        ({"item": "text", "tick": "text"}, "tick: expected a column of integers, timestamps or dates, got 'text'"),
        ({"item": "text", "tick": "real"}, "tick: expected a column of integers"),
        ({"item": "text", "tick": "truth"}, "tick: expected a column of integers"),
        ({"item": "text", "tick": "category"}, "tick: expected a column of integers"),
        ({"item": "real", "tick": "number"}, "item: expected a column of strings, binaries or integers, got 'real'"),
        ({"item": "list", "tick": "number"}, "item: expected a column of strings"),
        ({"item": "text", "tick": "number", "site": "real"}, "site: expected a column of strings or integers"),
        ({"item": "text", "tick": "number", "weight": "text"}, "weight: expected a column of integers, got 'text'"),
        ({"item": "text", "tick": "number", "bits": 8}, "item: expected a column of integers, as a Prefix"),
        ({"item": ["number", "small"], "tick": "number", "bits": 8}, "numbers of one column"),
        ({"item": [], "tick": "number"}, "got none"),
        ({"item": "text", "tick": "number", "format": "xml"}, "format: expected one of"),
        ({"item": "text", "tick": "number", "format": "csv"}, "cannot be read as csv|there is no column"),
        ({"item": "text", "tick": "number", "formats": ("csv",)}, "format: expected csv, got parquet"),
    ],
)  # fmt: skip
def test_columns_of_parquet(folder, roles, says):
    if says is None:
        check_files(str(folder), CONFIG, **roles)
        return
    with pytest.raises(InputError, match=says):
        check_files(str(folder), CONFIG, **roles)


def test_times_need_a_unit(folder):
    plain = CONFIG.replace(unit=None)
    check_files(str(folder), plain, "text", "number")
    for tick in ("when", "day"):
        with pytest.raises(InputError, match="the config has no unit"):
            check_files(str(folder), plain, "text", tick)


def test_paths(folder, tmp_path):
    for path, says in (
        (tmp_path / "nosuch", "there is no such file or folder"),
        (tmp_path, "there are no files in"),
        (tmp_path / ("n" * 300), "n: it cannot be opened|there is no such file"),
    ):
        with pytest.raises(InputError, match=says):
            check_files(str(path), CONFIG, "text", "number")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(InputError, match=r"broken.parquet: cannot be read as parquet"):
        check_files(str(tmp_path), CONFIG, "text", "number")
    (tmp_path / "broken.parquet").unlink()
    (tmp_path / "zone=7").mkdir()
    (tmp_path / "zone=7" / "a.parquet").write_bytes((folder / "a.parquet").read_bytes())
    check_files(str(tmp_path), CONFIG, "text", "number", site="zone", partitions=True)


LINES = "url,ts,when,n\n/a,1,2026-06-01 12:00:00,7\n/b,,2026-06-01 12:00:01,x\n"


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv"])
def test_columns_of_csv(tmp_path, name):
    text = LINES.replace(",", "\t") if name.endswith("tsv") else LINES
    data = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    path = str(tmp_path)
    check_files(path, CONFIG, "url", "ts", "url", "n")
    check_files(path, CONFIG, "url", "when")
    check_files(path, CONFIG, "n", "ts", bits=8)
    for given, says in (
        (("url", "url"), r"tick: expected a column of integers or times .* got 'url' with texts such as '/a'"),
        (("url", "ts", None, "url"), "weight: expected a column of integers, got 'url'"),
        (("url", "nosuch"), "tick: there is no column 'nosuch'; the columns are n, ts, url, when"),
    ):
        with pytest.raises(InputError, match=says):
            check_files(path, CONFIG, *given)
    with pytest.raises(InputError, match="item: expected a column of integers"):
        check_files(path, CONFIG, "url", "ts", bits=8)
    with pytest.raises(InputError, match="tick: expected a column of integers, got 'when'"):
        check_files(path, CONFIG.replace(unit=None), "url", "when")


def test_csv_that_is_none(tmp_path):
    for data in (b"", b"a,b\n", b"\xff\xfe\x00,b\n1,2\n", b"\x1f\x8b broken", b"a,b\n\xff,1\n"):
        (tmp_path / "a.csv").write_bytes(data)
        with suppress(InputError):  # nothing else
            check_files(str(tmp_path), CONFIG, "a", "b")


def test_numbers_in_csv_are_numbers_for_a_prefix_sketch(tmp_path):
    (tmp_path / "a.csv").write_text("n,ts\n" + "".join(f"{n % 100},{n}\n" for n in range(500)) + "x,500\n")
    roles = Roles(["n"], "ts", None, None, "s", False, numbers=True)
    pieces = list(sketch_splits(find_splits(str(tmp_path), None), roles, Recipe(CONFIG, 8, 16, None), 0))
    sketch = ecm.load(pieces[0].sketch)
    assert sketch.range_sum(0, 49).covers(250)
    assert [piece.reasons for piece in pieces if piece.reasons] == [{"null item": 1}]


def test_a_file_of_another_type_among_many_is_an_error_of_its_own(folder, tmp_path):
    pq.write_table(pa.table({"item": ["a"], "tick": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"item": ["a"], "tick": ["later"]}), tmp_path / "b.parquet")
    check_files(str(tmp_path), CONFIG, "item", "tick")
    roles = Roles(["item"], "tick", None, None, "s", False)
    with pytest.raises(
        InputError, match="tick: expected a column of integers, timestamps or dates, got 'tick' of string"
    ):
        list(sketch_splits(find_splits(str(tmp_path), None), roles, Recipe(CONFIG, None, 16, None), 0))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    "kind", [*(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")), pa.date32(), pa.date64()], ids=str
)
def test_ticks_of_every_type_of_time(kind, unit):
    days = np.array(["1900-01-01", "1969-12-31", "1970-01-01", "2026-06-01"], "datetime64[D]")
    times = days.astype("datetime64[us]") + (0 if pa.types.is_date(kind) else np.timedelta64(3_661_234_567, "us"))
    column = pa.array(times).cast(kind, safe=False) if not pa.types.is_date(kind) else pa.array(days).cast(kind)
    found = tick_column(column, Roles(["x"], "tick", None, None, unit, False)).to_pylist()
    for tick, value in zip(found, column.to_pylist(), strict=True):
        moment = np.datetime64(value.replace(tzinfo=None) if isinstance(value, datetime) else value)
        assert tick == to_tick(moment, unit)
    far = pa.array([2**62, None], pa.int64()).cast(pa.timestamp("s"))
    assert tick_column(far, Roles(["x"], "tick", None, None, "ns", False)).to_pylist() == [2**63 - 1, None]
