"""Messages, such as those of a Kafka topic, as events: fields parsed by Spark from JSON, CSV or Avro.

What cannot be parsed becomes null, and rows with nulls are rejected and counted (cleaning.py). So a poison message
never stops a query. Every parser is made to see the end of its message, so that nothing behind an event is lost unseen.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ecmsketch.config import SketchConfig
from ecmsketch.errors import InputError
from ecmsketch.spark.avro_schema import END, END_FIELD, with_end
from ecmsketch.spark.column_roles import Roles, check_columns, make_roles
from ecmsketch.spark.event_columns import quoted, tick_column

FORMATS = ("json", "csv", "avro")
MAX_BYTES = 2**20
"""Larger messages are rejected. Kafka's own limit is as much, unless a topic changes it."""
_BROKEN = "ecmsketch_broken"
_TIME = "ecmsketch_time"
_A_DATE = r"^\s*[+-]?\d{4,6}-\d{1,2}-\d"
"""How a time begins. Without a date Spark would take a text for a time of today."""


def parse_messages(
    messages: DataFrame,
    config: SketchConfig,
    format: str,
    item: str | Sequence[str],
    tick: str,
    site: str | None = None,
    weight: str | None = None,
    *,
    integers: Sequence[str] = (),
    columns: Sequence[str] = (),
    schema: str | None = None,
    schema_id: int | None = None,
) -> DataFrame:
    """Events for `stream_sketches` from the column `value` of messages, one per message: the fields that are named.

    format     "json", "csv" or "avro"
    integers   JSON and CSV: items and sites that are counted as integers; others are texts
    columns    CSV: the names of the columns, in order
    schema     Avro: the schema as JSON, of a record
    schema_id  Avro: every message begins with a zero byte and this number in four bytes, as Confluent's registry has it

    The tick of JSON and CSV is an integer in the config's unit, or a text with a date and a time (without a zone: UTC).
    A message that cannot be parsed, is over 1 MiB or has more in it than one event becomes a row of nulls.
    """
    roles = make_roles(config, item, tick, site, weight)
    check_fields(roles, format, integers, columns, schema, schema_id)
    value = F.when(F.octet_length("value") <= MAX_BYTES, F.col("value"))
    if format == "avro":
        return _from_avro(messages, value, roles, config, str(schema), schema_id)
    text = F.try_validate_utf8(value.cast("string"))
    texts = _from_json(messages, text, roles) if format == "json" else _from_csv(messages, text, roles, columns)
    numbers = {*integers, *filter(None, [weight])}
    typed = [
        quoted(name).try_cast("bigint").alias(name) if name in numbers else quoted(name)
        for name in roles.all()
        if name != tick
    ]
    return _with_ticks(texts, typed, tick, config)


def check_fields(
    roles: Roles,
    format: str,
    integers: Sequence[str] = (),
    columns: Sequence[str] = (),
    schema: str | None = None,
    schema_id: int | None = None,
) -> None:
    """Raise an error if what is said of the fields does not fit the format. Starts no Spark."""
    if format not in FORMATS:
        raise InputError(f"format: expected one of {', '.join(FORMATS)}, got {format!r}")
    for name in integers:
        check_columns([*roles.items, *filter(None, [roles.site])], {"integers": name})
    if (format == "csv") != bool(columns):
        raise InputError(f"columns: expected the names of the columns if, and only if, messages are csv; got {format}")
    if (format == "avro") != (schema is not None):
        raise InputError(f"schema: expected an Avro schema if, and only if, messages are avro; got {format}")
    if format == "csv":
        if len(set(columns)) < len(columns):
            raise InputError(f"columns: expected different names, got {', '.join(columns)}")
        check_columns(columns, roles.named())
    if schema is not None:
        if integers:
            raise InputError("integers: the Avro schema says which fields are integers; leave it out")
        check_columns(with_end(schema)[0], roles.named())
    if schema_id is not None and (format != "avro" or not 0 <= schema_id < 2**32):
        raise InputError(
            f"schema_id: expected a number below 2**32, and messages in avro, got {schema_id} and {format}"
        )


def _from_json(messages: DataFrame, text: Column, roles: Roles) -> DataFrame:
    """All fields as texts. The message is wrapped into an object, of which the end is seen only if all was JSON."""
    fields = T.StructType([T.StructField(name, T.StringType()) for name in roles.all()])
    whole = T.StructType([T.StructField("message", fields), T.StructField("end", T.IntegerType())])
    wrapped = F.concat(F.lit('{"message":'), text, F.lit(',"end":1}'))
    record = F.from_json(wrapped, whole, {"mode": "PERMISSIVE", "allowSingleQuotes": "false"})
    return _fields(messages, record, F.col("record.end") == 1, roles, "record.message")


def _from_csv(messages: DataFrame, text: Column, roles: Roles, columns: Sequence[str]) -> DataFrame:
    """All fields as texts. A message with fewer or more columns is broken."""
    schema = ", ".join(f"`{name.replace('`', '``')}` string" for name in (*columns, _BROKEN))
    options = {
        "mode": "PERMISSIVE", "columnNameOfCorruptRecord": _BROKEN, "escape": '"',
        "maxColumns": str(MAX_BYTES + 1),  # with Spark's own limit, a message with more columns stops the query
    }  # fmt: skip
    record = F.from_csv(F.rtrim(text, F.lit("\r\n")), schema, options)
    return _fields(messages, record, F.col(f"record.{_BROKEN}").isNull(), roles, "record")


def _from_avro(
    messages: DataFrame, value: Column, roles: Roles, config: SketchConfig, schema: str, schema_id: int | None
) -> DataFrame:
    """Fields of the types that the schema gives them."""
    from pyspark.sql.avro.functions import from_avro

    if schema_id is not None:
        header = b"\0" + schema_id.to_bytes(4, "big")
        value = F.when(F.substring(value, 1, 5) == F.lit(header), F.substring(value, 6, MAX_BYTES))
    record = from_avro(F.concat(value, F.lit(END)), with_end(schema)[1], {"mode": "PERMISSIVE"})
    events = _fields(messages, record, F.col(f"record.{END_FIELD}") == F.lit(END), roles, "record")
    if not isinstance(events.schema[roles.tick].dataType, T.StringType):
        return events
    return _with_ticks(events, [quoted(name) for name in roles.all() if name != roles.tick], roles.tick, config)


def _fields(messages: DataFrame, record: Column, whole: Column, roles: Roles, place: str) -> DataFrame:
    """The fields of a record, all null unless the message was a whole one."""
    found = messages.select(record.alias("record"))
    return found.select(*(F.when(whole, F.col(place)[name]).alias(name) for name in roles.all()))


def _with_ticks(events: DataFrame, others: list[Column], tick: str, config: SketchConfig) -> DataFrame:
    """Ticks from texts: integers as they are, times in the config's unit."""
    text = quoted(tick)
    zoned = [F.concat(text, F.lit(end)).try_cast("timestamp") for end in ("Z", "T00:00:00Z")]
    moment = F.when(text.rlike(_A_DATE), F.coalesce(*zoned, text.try_cast("timestamp")))
    number = text.try_cast("bigint")
    both = events.select(*others, number.alias(tick), F.when(number.isNull(), moment).alias(_TIME))
    names = [name for name in both.columns if name not in (tick, _TIME)]
    ticks = F.coalesce(quoted(tick), tick_column(_TIME, T.TimestampType(), config))
    return both.select(*(quoted(name) for name in names), ticks.alias(tick))
