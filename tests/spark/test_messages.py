"""Messages of any kind become events, or rows of nulls that are counted as rejected. No broker is needed for that."""

from __future__ import annotations

import json

import pytest

import ecmsketch as ecm
from ecmsketch import spark as ecm_spark
from ecmsketch.errors import InputError
from ecmsketch.spark.avro_schema import with_end
from ecmsketch.spark.message_parsing import MAX_BYTES
from ecmsketch.spark.topic_loss import lost_messages
from ecmsketch.spark.topic_progress import topic_progress

CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000, unit="s")
NOON = 1_780_315_200
"""2026-06-01T12:00:00Z."""
SCHEMA = json.dumps({"type": "record", "name": "event", "fields": [{"name": "url", "type": "string"}]})


def parse(spark, values, format="json", **more):
    """The events of some messages as tuples, in order."""
    given = [(i, value.encode() if isinstance(value, str) else value) for i, value in enumerate(values)]
    messages = spark.createDataFrame(given, "i int, value binary").coalesce(1)
    more = {"columns": ("url", "server", "ts", "n")} | more if format == "csv" else more
    events = ecm_spark.parse_messages(messages, CONFIG, format, "url", "ts", "server", "n", **more)
    return [(row["url"], row["server"], row["ts"], row["n"]) for row in events.collect()]


TIMES = {
    "17": 17,
    "-3": -3,
    "2026-06-01T12:00:00": NOON,
    "2026-06-01 12:00:00.9": NOON,
    "2026-06-01T12:00:00Z": NOON,
    "2026-06-01T14:00:00+02:00": NOON,
    "2026-06-01": NOON - 12 * 3600,
    "2026-06": None,
    "12:00:00": None,  # of today, whenever that is
    "T12:00": None,
    "now": None,
    "1.5": None,
    "99999999999999999999": None,
    "": None,
}


def test_ticks_are_integers_or_times_in_utc(spark):
    values = [json.dumps({"url": "/a", "server": "x", "ts": text, "n": 1}) for text in TIMES]
    assert [tick for _, _, tick, _ in parse(spark, values)] == list(TIMES.values())
    values = [f'/a,x,"{text}",1' for text in TIMES]
    assert [tick for _, _, tick, _ in parse(spark, values, "csv")] == list(TIMES.values())


NOTHING = (None, None, None, None)
JSON = {
    '{"url": "/a", "server": "x", "ts": 17, "n": 2, "more": [1, {}]}': ("/a", "x", 17, 2),
    '{"url": 7, "server": true, "ts": "17", "n": "2"}': ("7", "true", 17, 2),
    '{"url": "/a", "server": "x", "ts": "soon", "n": "many"}': ("/a", "x", None, None),
    '{"url": "/a", "server": "x", "ts": 1.5, "n": 1.5}': ("/a", "x", None, None),
    '{"url": null}': NOTHING,
    "{}": NOTHING,
    "": NOTHING,
    "no JSON": NOTHING,
    "12": NOTHING,
    '"/a"': NOTHING,
    '{"url": "/a", "ts": 17': NOTHING,
    '{"url": "/a", "ts": 17} {"url": "/b", "ts": 17}': NOTHING,
    '{"url": "/a", "ts": 17}, {"url": "/b", "ts": 17}': NOTHING,
    '[{"url": "/a", "ts": 17}, {"url": "/b", "ts": 17}]': NOTHING,
    '{"url": "/a", "ts": 17} junk': NOTHING,
    "{'url': '/a'}": NOTHING,
    '{"x": ' + "[" * 100_000 + "]" * 100_000 + ', "url": "/a"}': NOTHING,
    '{"url": "' + "x" * MAX_BYTES + '", "ts": 17}': NOTHING,
    b'{"url": "\xff\xfe"}': NOTHING,
    None: NOTHING,
}


def test_what_is_no_json_is_null(spark):
    assert dict(zip(JSON, parse(spark, JSON), strict=True)) == JSON


CSV = {
    "/a,x,17,2": ("/a", "x", 17, 2),
    "/a,x,17,2\r\n": ("/a", "x", 17, 2),
    '"/a,b",x,17,2': ("/a,b", "x", 17, 2),
    '"say ""hi""",x,17,2': ('say "hi"', "x", 17, 2),
    "/a,x,soon,many": ("/a", "x", None, None),
    "/a,x,17": NOTHING,
    "/a,x,17,2,3": NOTHING,
    "/a,x,17,2\n/b,x,17,2": NOTHING,
    ",,,": NOTHING,
    "": NOTHING,
    "," * (MAX_BYTES - 1): NOTHING,
    "x" * MAX_BYTES + ",x,17,2": NOTHING,
    b"\xff,x,17,2": NOTHING,
    None: NOTHING,
}


def test_what_is_no_csv_is_null(spark):
    assert dict(zip(CSV, parse(spark, CSV, "csv"), strict=True)) == CSV


def test_integers_are_integers_and_odd_names_are_names(spark):
    values = [b'{"a.b`c": "7", "server": 8, "ts": 17}', b'{"a.b`c": "x", "server": 8, "ts": 17}']
    messages = spark.createDataFrame([(value,) for value in values], "value binary").coalesce(1)
    events = ecm_spark.parse_messages(
        messages, CONFIG, "json", "a.b`c", "ts", "server", integers=["a.b`c", "server"]
    )  # fmt: skip
    assert [tuple(row) for row in events.collect()] == [(7, 8, 17), (None, 8, 17)]


@pytest.mark.parametrize(
    ("format", "more", "says"),
    [
        ("xml", {}, "format: expected one of json, csv, avro, got 'xml'"),
        ("csv", {"columns": ()}, "columns: expected the names"),
        ("csv", {"columns": ("url", "url")}, "columns: expected different names"),
        ("csv", {"columns": ("url", "server", "n")}, "tick: there is no column 'ts'"),
        ("json", {"columns": ("url",)}, "columns: expected the names"),
        ("json", {"schema": SCHEMA}, "schema: expected an Avro schema if"),
        ("json", {"schema_id": 7}, "schema_id: expected a number below"),
        ("json", {"integers": ["ts"]}, "integers: there is no column 'ts'"),
        ("avro", {}, "schema: expected an Avro schema if"),
        ("avro", {"schema": "{"}, "schema: expected an Avro schema as JSON"),
        ("avro", {"schema": '"string"'}, "schema: expected the Avro schema of a record"),
        ("avro", {"schema": '{"type": "record", "fields": [7]}'}, "schema: expected fields such as"),
        ("avro", {"schema": SCHEMA}, "tick: there is no column 'ts'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(spark, format, more, says):
    with pytest.raises(InputError, match="^" + says):
        parse(spark, [], format, **more)


def test_a_schema_gets_an_end():
    names, text = with_end(SCHEMA)
    assert names == ["url"]
    assert [field["name"] for field in json.loads(text)["fields"]] == ["url", "ecmsketch_end"]


@pytest.mark.parametrize(
    ("end", "latest", "said"),
    [
        ('{"t": {"0": 5, "10": 7, "2": 6}}', '{"t": {"0": 5, "10": 1007}}', ["t: offsets 0:5 2:6 10:7, lag 1,000"]),
        ('{"t": {"0": 5}}', None, ["t: offsets 0:5, lag 0"]),
        ('{"t": {"0": 5}}', '{"t": {"0": 5, "1": 3}}', ["t: offsets 0:5, lag 3"]),
        (
            json.dumps({"t": {str(i): i for i in range(9)}}),
            json.dumps({"t": {str(i): i + 1 for i in range(9)}}),
            ["t: offsets 36 in 9 partitions, lag 9"],
        ),
        ('{"logOffset": 3}', None, []),
        ('{"seconds": {"a": 1}}', None, []),
        ("0", None, []),
        (None, None, []),
        ("no JSON", None, []),
    ],
)  # fmt: skip
def test_progress_of_topics(end, latest, said):
    assert list(topic_progress(end, latest)) == said


def test_other_failures_are_not_taken_for_lost_messages():
    assert lost_messages("[DIVIDE_BY_ZERO] Division by zero") is None
