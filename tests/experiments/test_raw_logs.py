"""Files of the real World Cup 98 log are streams too: in order of day and part, one batch at a time."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from ecmsketch.errors import InputError
from ecmsketch.experiments.data import raw_logs
from ecmsketch.experiments.data.named_streams import open_event_stream
from ecmsketch.generate import WorldCupLog
from ecmsketch.worldcup98 import write_log

FILES = ((9, 1), (10, 1), (10, 2), (10, 10))
EACH = 1000


@pytest.fixture(scope="module")
def records():
    log = WorldCupLog(EACH * len(FILES), day=9, days=2)
    return np.concatenate([log.slice(index) for index in range(log.slices)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory, records):
    """Names sort as text in another order than by time, and a file that is no log lies beside them."""
    folder = tmp_path_factory.mktemp("logs")
    for number, (day, part) in enumerate(FILES):
        write_log(folder / f"wc_day{day}_{part}.gz", [records[number * EACH : (number + 1) * EACH]], True)
    (folder / "README").write_text("no log")
    return folder


def columns(stream):
    return [np.concatenate(column) for column in zip(*stream.batches(), strict=True)]


@pytest.mark.parametrize("given", ["{}", "{}/wc_day*.gz"])
def test_a_folder_or_a_pattern_is_read_in_order_of_time(folder, records, given, monkeypatch):
    monkeypatch.setattr(raw_logs, "BATCH_EVENTS", 300)
    stream = open_event_stream(given.format(folder), 10**9)
    items, ticks, sites = columns(stream)
    for found, name in ((items, "object"), (ticks, "timestamp"), (sites, "server")):
        assert (found == records[name]).all()
    assert max(len(batch.ticks) for batch in stream.batches()) == 300
    assert (stream.events, stream.first, stream.now) == (len(records), ticks[0], ticks[-1])
    assert stream.sites == len(np.unique(records["server"]))
    assert (stream.name, stream.label) == ("worldcup98-real", "real")
    assert "4 files from wc_day9_1 to wc_day10_10" in stream.what
    assert str(folder) not in stream.what


def test_only_the_first_events_are_read(folder, records):
    stream = open_event_stream(str(folder), EACH + 7)
    assert stream.events == EACH + 7
    assert stream.now == records["timestamp"][EACH + 6]
    assert len(columns(stream)[0]) == EACH + 7
    assert open_event_stream(str(folder / "wc_day9_1.gz"), 10**9).events == EACH


def test_a_request_out_of_order_counts_at_the_time_of_the_one_before(tmp_path, records):
    mixed = records[:5].copy()
    mixed["timestamp"] = [100, 105, 103, 104, 106]
    write_log(tmp_path / "wc_day9_1.gz", [mixed], True)
    assert columns(open_event_stream(str(tmp_path), 10))[1].tolist() == [100, 105, 105, 105, 106]


def test_files_that_go_back_in_time_are_refused(tmp_path, folder):
    shutil.copy(folder / "wc_day10_10.gz", tmp_path / "wc_day9_1.gz")
    shutil.copy(folder / "wc_day9_1.gz", tmp_path / "wc_day10_1.gz")
    with pytest.raises(InputError, match=r"wc_day10_1\.gz begins .* before the end"):
        open_event_stream(str(tmp_path), 10**9)


def test_a_real_file_is_read(shared_data):
    stream = open_event_stream(str(shared_data / "wc98" / "wc_day50_4.head"), 10**9)
    assert (stream.events, stream.sites, stream.now - stream.first) == (10_000, 29, 42)
