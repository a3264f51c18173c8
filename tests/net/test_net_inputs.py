"""Lines: what is an event and what is rejected, files that are rotated and truncated, pipes and UDP."""

from __future__ import annotations

import io
import socket
import time

import pytest

from ecmsketch.errors import ConfigError
from ecmsketch.net import Address, GrowingFile, LineFormat, PipedLines, UdpLines, growing_file
from ecmsketch.net.line_formats import MAX_LINE


def read(lines, clock=1000, streams=("",), ahead=60, **given):
    batch = LineFormat(**given).read([line.encode() for line in lines], clock, "s", streams, ahead)
    events = [(stream, *event) for stream, columns in batch.streams.items() for event in zip(*columns, strict=True)]
    return events, dict(batch.rejected)


def test_plain_lines():
    good = ["a", "b,990", "c,990,5", "d,,7", "e,990.75", "f,1970-01-01T00:16:00Z", "g,1970-01-01T00:16:00"]
    assert read(good) == (
        [("", "a", 1000, 1), ("", "b", 990, 1), ("", "c", 990, 5), ("", "d", 1000, 7), ("", "e", 990, 1),
         ("", "f", 960, 1), ("", "g", 960, 1)], {},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (",5", "no item"), ("a,b", "no tick"), ("a,-5", "no tick"), ("a,9999999999999999999", "no tick"),
        ("a,5,x", "no weight"), ("a,5,0", "no weight"), ("a,5,-1", "no weight"), ("a,5,1,", None),
        ("a,5,1,x", "another stream"), ("a,5,1,x,y", "too many fields"), ("a,1061", "tick ahead of the clock"),
        ("a,1060", None), ("x" * (MAX_LINE + 1), "line too long"),
    ],
)  # fmt: skip
def test_what_is_no_event_is_counted_by_its_reason(line, reason):
    events, rejected = read([line])
    assert (len(events), rejected) == ((1, {}) if reason is None else (0, {reason: 1}))


def test_bytes_that_are_no_text_are_rejected():
    batch = LineFormat().read([b"\xff\xfe"], 0, "s", ("",), 0)
    assert (len(batch), dict(batch.rejected)) == (0, {"not UTF-8": 1})


def test_csv_and_json_and_text():
    assert read(['990,"a,b",2', '"'], format="csv", item="2", tick="1", weight="3") == (
        [("", "a,b", 990, 2)], {"not CSV": 1},
    )  # fmt: skip
    lines = ['{"ip": "a", "t": 990, "s": "up"}', '{"ip": 7, "s": "up"}', "[1]", "{", '{"ip": [1], "s": "up"}']
    assert read(lines, format="json", item="ip", tick="t", stream="s", streams=("up", "down")) == (
        [("up", "a", 990, 1), ("up", "7", 1000, 1)], {"not JSON": 2, "no item": 1},
    )  # fmt: skip
    assert read(["a,b,c"], format="text") == ([("", "a,b,c", 1000, 1)], {})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"format": "xml"}, "--format: expected one of"), ({"item": "1"}, "--item: expected with --format csv or json"),
        ({"format": "json"}, "--item: give the field"), ({"format": "csv", "item": "a"}, "the number of a column"),
    ],
)  # fmt: skip
def test_formats_that_make_no_sense(given, says):
    with pytest.raises(ConfigError, match=says):
        LineFormat(**given)


def drain(lines):
    found = []
    while True:
        taken, more = lines.take()
        found += taken
        if not more:
            return found


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setattr(growing_file, "GRACE", 0.0)
    return tmp_path / "log"


def append(path, text):
    with path.open("a") as file:
        file.write(text)


def test_a_file_that_grows_gives_whole_lines_once(log):
    lines = GrowingFile(log)
    assert drain(lines) == []  # it is not there yet
    append(log, "a\nb\npart")
    assert drain(lines) == [b"a", b"b"]
    append(log, "ly\n\nc\n")
    assert drain(lines) == [b"partly", b"c"]


def test_rotation_by_renaming_reads_the_old_file_to_its_end(log):
    lines = GrowingFile(log)
    append(log, "a\n")
    assert drain(lines) == [b"a"]
    old = log.open("a")
    log.rename(log.with_name("log.1"))
    old.write("late\nunfinished")
    old.close()
    append(log, "new\n")
    assert drain(lines) == [b"late", b"unfinished", b"new"]
    assert (lines.noted.total(), lines.lost) == (1, 0)


def test_the_old_file_is_read_for_a_while_since_its_writer_may_not_know(log, monkeypatch):
    monkeypatch.setattr(growing_file, "GRACE", 0.2)
    lines = GrowingFile(log)
    append(log, "a\n")
    drain(lines)
    log.rename(log.with_name("log.1"))
    append(log, "new\n")
    assert drain(lines) == []
    append(log.with_name("log.1"), "late\n")
    time.sleep(0.25)
    assert drain(lines) == [b"late", b"new"]


def test_truncation_begins_anew(log):
    lines = GrowingFile(log)
    append(log, "first line\n")
    assert drain(lines) == [b"first line"]
    log.write_text("x\n")
    assert drain(lines) == [b"x"]
    assert list(lines.noted) == ["the file became shorter; it is read from its beginning"]


@pytest.mark.parametrize("rotated", [False, True])
def test_a_restart_goes_on_where_it_was(log, rotated):
    lines = GrowingFile(log)
    append(log, "a\nb\npart")
    drain(lines)
    position = lines.position
    append(log, "ly\n")
    if rotated:
        log.rename(log.with_name("log.1"))
        append(log, "new\n")
    again = GrowingFile(log)
    again.resume(position)
    assert drain(again) == [b"partly", *([b"new"] if rotated else [])]
    assert again.lost == 0


def test_a_restart_whose_file_is_gone_says_so(log):
    lines = GrowingFile(log)
    append(log, "a\n")
    drain(lines)
    log.rename(log.with_name("other"))
    append(log, "new\n")
    again = GrowingFile(log)
    again.resume(lines.position)
    assert (drain(again), again.lost) == ([b"new"], 1)


def test_a_line_that_never_ends_takes_no_memory_and_counts_once(log):
    lines = GrowingFile(log)
    for _ in range(5):
        append(log, "x" * MAX_LINE)
        drained = drain(lines)
        position = lines.position
    assert drained == []
    assert len(lines._rest) <= MAX_LINE
    again = GrowingFile(log)
    again.resume(position)
    append(log, "x\nshort\n")
    assert drain(lines) == drain(again) == [b"short"]


def test_a_pipe_ends_and_its_longest_line_is_cut():
    lines = PipedLines(io.BytesIO(b"a\n\n" + b"x" * (3 * MAX_LINE) + b"\nb\nlast"))
    found = []
    for _ in range(100):
        found += drain(lines)
        if lines.ended and len(found) >= 4:
            break
        time.sleep(0.01)
    assert [found[0], len(found[1]) > MAX_LINE, *found[2:]] == [b"a", True, b"b", b"last"]


def test_udp_lines_and_malformed_ones():
    lines = UdpLines(Address("127.0.0.1", 0))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for datagram in (b"a,990\nb", b"", b"\xff\x00", b"c,x\n", b"d,990,2\n\n"):
            sender.sendto(datagram, ("127.0.0.1", lines.address.port))
    time.sleep(0.05)
    batch = LineFormat().read(drain(lines), 1000, "s", ("",), 60)
    assert batch.streams[""][0] == ["a", "b", "d"]
    assert batch.rejected == {"not UTF-8": 1, "no tick": 1}
    with pytest.raises(ConfigError, match="--udp: cannot listen"):
        UdpLines(lines.address)
    lines.close()


def test_datagrams_that_the_kernel_drops_are_counted():
    lines = UdpLines(Address("127.0.0.1", 0))
    datagram = b"x" * 60_000
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(1000):
            sender.sendto(datagram, ("127.0.0.1", lines.address.port))
        taken = len(drain(lines))
        sender.sendto(b"last", ("127.0.0.1", lines.address.port))
        time.sleep(0.05)
        taken += len(drain(lines))
    assert taken + lines.lost == 1001
    assert lines.lost == lines.noted.total() > 0
    lines.close()
