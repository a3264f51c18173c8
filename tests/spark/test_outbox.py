"""Messages of the coordinator: each is read with the trigger that its offsets name, again after a crash, then gone."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from pyarrow import fs

from ecmsketch.errors import ConfigError
from ecmsketch.spark import monitoring, trigger_files
from ecmsketch.spark.outbox import OutboxReader
from ecmsketch.spark.trigger_files import TriggerFiles


def test_messages_are_read_by_trigger_and_deleted_when_it_is_done(tmp_path):
    reader, files = OutboxReader(str(tmp_path)), TriggerFiles(tmp_path.as_uri())  # a path and a URL
    start = reader.initialOffset()
    assert reader.latestOffset(start, None) == start
    files.put(0, {"site": "a", "message": b"1"}, {"site": "b", "message": b"2"})
    reader.prepareForTriggerAvailableNow()  # what comes after it is read all the same
    files.put(3, {"site": "a", "message": b"3"})
    end = reader.latestOffset(start, None)
    assert end == {"number": 3}
    files.put(4, {"site": "a", "message": b"4"})
    for _ in range(2):  # a trigger that is done again
        (part,) = reader.partitions(start, end)
        assert list(reader.read(part)) == [("a", b"1"), ("b", b"2"), ("a", b"3")]
    reader.commit(end)
    assert files.numbers() == [4]
    (part,) = reader.partitions(end, reader.latestOffset(end, None))
    assert list(reader.read(part)) == [("a", b"4")]
    reader.commit({"number": 4})
    assert reader.latestOffset({"number": 4}, None) == {"number": 4}


def test_files_on_something_else_than_a_disk(monkeypatch):
    """Object stores have no rename and no paths of this machine."""
    elsewhere = fs._MockFileSystem()
    monkeypatch.setattr(trigger_files, "_opened", lambda place: (elsewhere, place.split("://")[1]))
    files = TriggerFiles("else://bucket/watch").inside("states")
    assert files.place == "else://bucket/watch/states"
    assert (files.numbers(), files.text("watch.txt")) == ([], None)
    for number in (12, 3, 3):
        files.put(number, {"site": "a", "message": b"%d" % number})
    files.put_text("watch.txt", "caf\u00e9")
    assert files.numbers() == [3, 12]
    assert files.read(12) == [{"site": "a", "message": b"12"}]
    assert files.text("watch.txt") == "caf\u00e9"
    files.delete(3)
    files.delete(3)
    assert files.numbers() == [12]


@pytest.mark.parametrize("place", ["nowhere://x/y", "s3://", "file:///dev/null/here"])
def test_a_place_that_cannot_be_used(place):
    with pytest.raises(ConfigError, match=r"cannot be used: .*; give a path, or a URL that pyarrow can write to"):
        TriggerFiles(place)


def test_with_a_spark_that_knows_no_such_sources_monitoring_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "ecmsketch.spark.outbox", None)
    with pytest.raises(ConfigError, match=r"monitoring needs Spark 4\.2 or newer, and this is 4\.1\.4"):
        monitoring._told(SimpleNamespace(version="4.1.4"), "outbox")
