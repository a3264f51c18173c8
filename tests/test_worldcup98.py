"""The World Cup 98 log: what its own checkers published of it, and bytes that are no log."""

from __future__ import annotations

import gzip
import io
import re
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecmsketch.errors import InputError
from ecmsketch.worldcup98 import (
    COLUMNS,
    RECORD,
    SERVERS,
    STATUSES,
    from_columns,
    open_log,
    read_batches,
    server_name,
    to_columns,
    write_log,
)


def read(data, **settings):
    batches = list(read_batches(io.BytesIO(data), **settings))
    return np.concatenate(batches).astype(RECORD) if batches else np.empty(0, RECORD)


def make_records(count, seed=0):
    rng = np.random.default_rng(seed)
    records = np.empty(count, RECORD)
    for name in ("timestamp", "client", "object", "size"):
        records[name] = rng.integers(0, 2**32, count)
    records["method"], records["type"] = rng.integers(0, 9, count), rng.integers(0, 13, count)
    records["status"] = rng.integers(0, len(STATUSES), count) | rng.integers(0, 4, count) << 6
    records["server"] = rng.choice(SERVERS, count)
    return records


def published(text):
    totals = {name.strip(): float(value) for name, value in re.findall(r"^\s*([A-Z][\w ]+): ([\d.]+)$", text, re.M)}
    servers = {int(name[7:]): int(value) for name, value in totals.items() if name.startswith("Server ")}
    return {name: value for name, value in totals.items() if not name.startswith("Server ")}, servers


PUBLISHED = [("test_log.gz", "test_log.check"), ("wc_day50_4.head", "wc_day50_4.analysis")]


@pytest.mark.parametrize(("log", "check"), PUBLISHED)
def test_real_logs_have_the_published_totals(shared_data, log, check):
    totals, servers = published((shared_data / "wc98" / check).read_text())
    with open_log(shared_data / "wc98" / log) as stream:
        columns = to_columns(np.concatenate(list(read_batches(stream, records=777))))
    times, sizes = columns["timestamp"], columns["size"][columns["size"] >= 0]
    assert totals == {
        "Total Requests": len(times),
        "Total Bytes": sizes.sum(),
        "Mean Transfer Size": sizes.sum() / len(times),
        "Min Client ID": columns["client"].min(),
        "Max Client ID": columns["client"].max(),
        "Min Object ID": columns["object"].min(),
        "Max Object ID": columns["object"].max(),
        "Min Size": sizes.min(),
        "Max Size": sizes.max(),
        "Min Time": times.min(),
        "Max Time": times.max(),
        "Start Time": times[0],
        "Finish Time": times[-1],
        "Out of Order": (np.diff(times) < 0).sum(),
        "Unique Servers": len(np.unique(columns["server"])),
    }
    assert servers == dict(zip(*map(np.ndarray.tolist, np.unique(columns["server"], return_counts=True)), strict=True))


@pytest.mark.parametrize("log", ["test_log.gz", "wc_day50_4.head"])
def test_real_logs_survive_columns_and_writing(shared_data, log, tmp_path):
    with open_log(shared_data / "wc98" / log) as stream:
        data = stream.read()
    records = read(data)
    assert from_columns(to_columns(records)).tobytes() == data
    assert set(np.unique(to_columns(records)["status"])) <= {200, 206, 302, 304, 404}
    for compress in (False, True):
        assert write_log(tmp_path / "log", np.array_split(records, 7), compress) == len(records)
        with open_log(tmp_path / "log") as stream:
            assert stream.read() == data


ROWS = st.fixed_dictionaries(
    {
        "timestamp": st.integers(0, 2**32 - 1),
        "client": st.integers(0, 2**32 - 1),
        "object": st.integers(0, 2**32 - 1),
        "size": st.integers(-1, 2**32 - 2),
        "method": st.integers(0, 8),
        "version": st.integers(0, 3),
        "status": st.sampled_from(STATUSES),
        "type": st.integers(0, 12),
        "server": st.sampled_from(SERVERS),
    }
)


@given(st.lists(ROWS), st.integers(1, 9))
def test_columns_to_bytes_and_back(rows, batch):
    columns = {name: np.array([row[name] for row in rows], np.int64) for name in COLUMNS}
    data = from_columns(columns).tobytes()
    assert len(data) == 20 * len(rows)
    again = to_columns(read(data, records=batch))
    assert list(again) == list(COLUMNS)
    for name in COLUMNS:
        assert again[name].dtype == np.int64
        assert again[name].dtype.isnative
        np.testing.assert_array_equal(again[name], columns[name])


@given(st.integers(0, 40), st.integers(0, 45), st.none() | st.integers(0, 45), st.integers(1, 50), st.booleans())
def test_any_range_of_records(count, begin, end, batch, seekable):
    records = make_records(count)
    stream = io.BytesIO(records.tobytes())
    stream.seekable = lambda: seekable
    found = list(read_batches(stream, batch, begin, end))
    assert b"".join(part.tobytes() for part in found) == records[begin:end].tobytes()
    assert all(0 < len(part) <= batch for part in found)


def test_ranges_of_a_compressed_log(tmp_path):
    records = make_records(100_000)
    write_log(tmp_path / "log", [records], compress=True)
    parts = []
    for begin in range(0, 120_000, 30_000):
        with open_log(tmp_path / "log") as stream:
            parts += read_batches(stream, 7_000, begin, begin + 30_000)
    assert b"".join(part.tobytes() for part in parts) == records.tobytes()


class Dribble(io.RawIOBase):
    """A stream that gives seven bytes at a time, as sockets may."""

    def __init__(self, data):
        self.data = io.BytesIO(data)

    def read(self, size=-1):
        return self.data.read(min(size, 7))


def test_short_reads_are_not_the_end():
    data = make_records(50).tobytes()
    assert b"".join(part.tobytes() for part in read_batches(Dribble(data), 20, begin=3)) == data[60:]


@pytest.mark.parametrize("left", [1, 19])
@pytest.mark.parametrize("batch", [3, 10, 1000])
def test_a_cut_log_gives_its_whole_records_first(left, batch):
    records = make_records(10)
    found = []
    with pytest.raises(InputError, match=f"{left} bytes left over after record 10"):
        found.extend(read_batches(io.BytesIO(records.tobytes() + bytes(left)), batch))
    assert b"".join(part.tobytes() for part in found) == records.tobytes()
    assert read(records.tobytes() + bytes(left), end=10).tobytes() == records.tobytes()


def test_a_cut_compressed_log_gives_its_whole_records_first():
    records = make_records(50_000)
    whole = gzip.compress(records.tobytes(), 1)
    found = []
    with pytest.raises(InputError, match=r"damaged after \d+ whole records"):
        found.extend(read_batches(gzip.GzipFile(fileobj=io.BytesIO(whole[: len(whole) // 2]))))
    data = b"".join(part.tobytes() for part in found)
    assert len(data) > 0.4 * records.nbytes
    assert records.tobytes().startswith(data)
    with pytest.raises(InputError, match="damaged before record 49000"):
        list(read_batches(gzip.GzipFile(fileobj=io.BytesIO(whole[: len(whole) // 2])), begin=49_000))


def test_empty_logs(tmp_path):
    for compress in (False, True):
        assert write_log(tmp_path / "log", [], compress) == 0
        with open_log(tmp_path / "log") as stream:
            assert list(read_batches(stream)) == []
    assert {len(column) for column in to_columns(np.empty(0, RECORD)).values()} == {0}
    assert len(from_columns({name: [] for name in COLUMNS})) == 0


@given(st.binary(max_size=200))
def test_garbage_is_read_or_refused(data):
    with suppress(InputError):
        assert read(data).tobytes() == data


def test_other_files_are_told_from_a_log(tmp_path):
    text = b"epoch,client,obj,url,status,size\n" * 40
    with pytest.raises(InputError, match=r"record 0: got a method of [0-9]+, expected 0 to 8"):
        read(text)
    records = make_records(5)
    records["type"][3] = 13
    found = []
    with pytest.raises(InputError, match="record 3: got a type of 13, expected 0 to 12"):
        found.extend(read_batches(io.BytesIO(records.tobytes())))
    assert len(found[0]) == 3
    (tmp_path / "log").write_bytes(b"\x1f\x8b" + bytes(100))
    with open_log(tmp_path / "log") as stream, pytest.raises(InputError, match="damaged after 0 whole records"):
        list(read_batches(stream))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"status": [418]}, "status: got 418, expected one of STATUSES"),
        ({"size": [-2]}, "size: got -2 to -2, expected -1 to"),
        ({"client": [2**32]}, "client: got .*, expected 0 to"),
        ({"server": [1.5]}, "server: got an array of float64, expected integers"),
        ({"type": [1, 2]}, "type: got 2 values, expected 1"),
        ({"object": None}, "got none called object"),
    ],
)
def test_columns_that_are_no_records(change, message):
    columns = {**to_columns(make_records(1)), **change}
    with pytest.raises(InputError, match=message):
        from_columns({name: values for name, values in columns.items() if values is not None})


def test_records_are_known_in_either_byte_order_and_nothing_else_is(tmp_path):
    records = make_records(10)
    native = np.concatenate([records[:5], records[5:]])
    assert native.dtype != RECORD
    write_log(tmp_path / "log", [native], compress=False)
    assert (tmp_path / "log").read_bytes() == records.tobytes()
    with pytest.raises(InputError, match=r"got int64 .*, expected a one-dimensional array of RECORD"):
        to_columns(np.arange(3))
    with pytest.raises(InputError, match="got list"):
        write_log(tmp_path / "log", [[1, 2]], compress=True)


def test_version_is_http_1_0_unless_said():
    columns = to_columns(make_records(20))
    del columns["version"]
    assert (to_columns(from_columns(columns))["version"] == 1).all()


def test_servers_have_names():
    names = [server_name(server) for server in SERVERS]
    assert len(set(names)) == 33
    assert (names[0], names[-1]) == ("santa-clara-0", "paris-5")
    assert server_name(np.int64(42)) == "plano-10"
    with pytest.raises(InputError, match="expected one of the 33"):
        server_name(6)


def test_bad_ranges_are_refused():
    with pytest.raises(InputError, match="records >= 1 and begin >= 0"):
        list(read_batches(io.BytesIO(), records=0))
