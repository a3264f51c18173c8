"""Columns of a DataFrame as workers need them: integers, computed by Spark itself.

The JVM hashes strings and turns timestamps into ticks. Only bigint columns cross to Python, which is several
times faster than any others. Names are sent along only for heavy_hitters=True.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ecmsketch.config import SketchConfig
from ecmsketch.errors import InputError
from ecmsketch.inputs.kinds import INTEGER, TEXT, Kinds, describe, kind_of
from ecmsketch.inputs.ticks import TICKS_PER_DAY
from ecmsketch.spark.column_roles import check_columns, item_names

_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_TEXTS = (T.StringType, T.BinaryType)
_NO_TICK = 2**63 - 1


class Chosen(NamedTuple):
    """A DataFrame with only the columns that are needed, and their names."""

    events: DataFrame
    items: list[str]
    has_site: bool
    has_weight: bool
    site_type: T.DataType
    size: int
    """How many units of the column "tick" make a tick. Workers divide: it takes them less time than Spark."""


def choose(
    events: DataFrame,
    config: SketchConfig,
    item: str | Sequence[str],
    tick: str,
    site: str | None,
    weight: str | None,
    numbers_only: bool,
) -> Chosen:
    """Select the columns that are needed: item..., tick, site, weight."""
    items = item_names(item)
    types = {field.name: field.dataType for field in events.schema.fields}
    for name in items:
        check_columns(types, {"item": name})
    check_columns(types, {"tick": tick, "site": site, "weight": weight})
    columns = _items(items, types, config, numbers_only)
    names = [f"item_{i}" for i in range(len(columns))]
    chosen = [column.alias(name) for column, name in zip(columns, names, strict=True)]
    ticks, size = _fine_ticks(tick, types[tick], config)
    chosen.append(ticks.alias("tick"))
    site_type: T.DataType = T.StringType()
    if site is not None:
        site_type = types[site]
        if not isinstance(site_type, (*_INTEGERS, T.StringType)):
            raise InputError(f"site: expected a column of strings or integers, got {site!r} of {_name(site_type)}")
        chosen.append((quoted(site) if isinstance(site_type, T.StringType) else _bigint(site)).alias("site"))
    if weight is not None:
        if not isinstance(types[weight], _INTEGERS):
            raise InputError(f"weight: expected a column of integers, got {weight!r} of {_name(types[weight])}")
        chosen.append(_bigint(weight).alias("weight"))
    return Chosen(events.select(*chosen), names, site is not None, weight is not None, site_type, size)


def item_kinds(events: DataFrame, item: str | Sequence[str]) -> Kinds:
    """The kind of the items that some columns of a DataFrame hold."""
    types = {field.name: field.dataType for field in events.schema.fields}
    names = [item] if isinstance(item, str) else list(item)
    return frozenset({"".join(INTEGER if isinstance(types.get(name), _INTEGERS) else TEXT for name in names)})


def hashed_kind(events: DataFrame, config: SketchConfig, item: str | Sequence[str]) -> str | None:
    """The kind of the items if Spark hashes them, None if they reach the workers as they are."""
    (kind,) = item_kinds(events, item)
    return None if config.heavy_hitters or kind == INTEGER else kind


def check_watched(events: DataFrame, item: str | Sequence[str], watched: Sequence[Any]) -> None:
    """Refuse to watch an item that cannot be in the stream, such as the number 7 in a column of texts."""
    (kind,) = item_kinds(events, item)
    for wanted in watched:
        found = kind_of(wanted)
        if found != kind:
            raise InputError(
                f"function: {wanted!r} is of kind {describe(frozenset({found}))}, but {item!r} holds items of kind "
                f"{describe(frozenset({kind}))}, so it would never be seen; convert the item"
            )


def _items(names: list[str], types: dict[str, Any], config: SketchConfig, numbers_only: bool) -> list[Column]:
    allowed = _INTEGERS if numbers_only else (*_INTEGERS, *_TEXTS)
    for name in names:
        if not isinstance(types[name], allowed):
            wanted = "integers" if numbers_only else "strings, binaries or integers"
            raise InputError(
                f"item: expected a column of {wanted}, got {name!r} of {_name(types[name])}; cast it first"
            )
    if numbers_only and len(names) > 1:
        raise InputError("item: a PrefixSketch counts the numbers of one column")
    parts = [quoted(name) if isinstance(types[name], _TEXTS) else _bigint(name) for name in names]
    if config.heavy_hitters or (len(parts) == 1 and not isinstance(types[names[0]], _TEXTS)):
        return parts
    known = parts[0].isNotNull()
    for part in parts[1:]:
        known = known & part.isNotNull()
    return [F.when(known, F.xxhash64(*parts))]  # the hash of null is not null


def tick_column(name: str, kind: T.DataType, config: SketchConfig) -> Column:
    """A tick: an integer as it is, a timestamp or a date in the config's unit; 2**63 - 1 if 64 bits cannot hold it."""
    column, size = _fine_ticks(name, kind, config)
    if size == 1:
        return column
    cut = F.call_function("div", column, F.lit(size))  # towards zero, so that nothing overflows
    return cut - F.when((column < 0) & (column % F.lit(size) != 0), F.lit(1)).otherwise(F.lit(0))


def _fine_ticks(name: str, kind: T.DataType, config: SketchConfig) -> tuple[Column, int]:
    """A column whose values, divided by a number and rounded down, are ticks; and that number."""
    if isinstance(kind, _INTEGERS):
        return _bigint(name), 1
    column = quoted(name)
    if not isinstance(kind, T.TimestampType | T.TimestampNTZType | T.DateType):
        raise InputError(f"tick: expected integers, timestamps or dates, got {name!r} of {_name(kind)}")
    if config.unit is None:
        raise InputError(f"tick: {name!r} has {_name(kind)}s, but the config has no unit; set unit='s', for example")
    if isinstance(kind, T.DateType):
        return _times(F.unix_date(column).cast("bigint"), TICKS_PER_DAY[config.unit]), 1
    if isinstance(kind, T.TimestampNTZType):  # without a zone it counts as UTC, as everywhere
        since = F.timestamp_diff("MICROSECOND", F.expr("TIMESTAMP_NTZ'1970-01-01 00:00:00'"), column)
        known = column.between(F.expr("TIMESTAMP_NTZ'-200000-01-01'"), F.expr("TIMESTAMP_NTZ'+200000-01-01'"))
        micros = F.when(known, since).when(column.isNotNull(), F.lit(_NO_TICK))
    else:
        micros = F.unix_micros(column)
    if config.unit in ("us", "ns"):
        return (_times(micros, 1000) if config.unit == "ns" else micros), 1
    return micros, TICKS_PER_DAY["us"] // TICKS_PER_DAY[config.unit]


def _times(column: Column, factor: int) -> Column:
    """Multiply a column. Where that overflows, give the largest bigint, which is no tick and so is rejected."""
    return F.when(column.isNotNull(), F.coalesce(F.try_multiply(column, F.lit(factor)), F.lit(_NO_TICK)))


def quoted(name: str) -> Column:
    """The column of exactly this name, even if it has dots or backticks in it."""
    return F.col("`" + name.replace("`", "``") + "`")


def _bigint(name: str) -> Column:
    return quoted(name).cast("bigint")


def _name(kind: T.DataType) -> str:
    return kind.simpleString()
