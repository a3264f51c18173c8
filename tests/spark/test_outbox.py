"""Messages of the coordinator: each is read with the trigger that its offsets name, again after a crash, then gone."""

from __future__ import annotations

from ecmsketch.spark.outbox import OutboxReader, numbers_in, put


def test_messages_are_read_by_trigger_and_deleted_when_it_is_done(tmp_path):
    reader = OutboxReader(tmp_path)
    start = reader.initialOffset()
    assert reader.latestOffset(start, None) == start
    put(tmp_path, 0, {"site": "a", "message": b"1"}, {"site": "b", "message": b"2"})
    reader.prepareForTriggerAvailableNow()  # what comes after it is read all the same
    put(tmp_path, 3, {"site": "a", "message": b"3"})
    end = reader.latestOffset(start, None)
    assert end == {"number": 3}
    put(tmp_path, 4, {"site": "a", "message": b"4"})
    for _ in range(2):  # a trigger that is done again
        (part,) = reader.partitions(start, end)
        assert list(reader.read(part)) == [("a", b"1"), ("b", b"2"), ("a", b"3")]
    reader.commit(end)
    assert numbers_in(tmp_path) == [4]
    (part,) = reader.partitions(end, reader.latestOffset(end, None))
    assert list(reader.read(part)) == [("a", b"4")]
    reader.commit({"number": 4})
    assert reader.latestOffset({"number": 4}, None) == {"number": 4}
