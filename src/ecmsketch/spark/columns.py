"""Columns of a DataFrame as workers want them: integers, computed by Spark itself.

Strings are hashed in the JVM, timestamps become ticks there; only bigint columns cross to Python, which is several
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
from ecmsketch.ticks import TICKS_PER_DAY

_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_TEXTS = (T.StringType, T.BinaryType)


class Chosen(NamedTuple):
    """A DataFrame cut down to what is needed, and the names in it."""

    events: DataFrame
    items: list[str]
    has_site: bool
    has_weight: bool
    site_type: T.DataType


def choose(
    events: DataFrame,
    config: SketchConfig,
    item: str | Sequence[str],
    tick: str,
    site: str | None,
    weight: str | None,
    numbers_only: bool,
) -> Chosen:
    """Only the columns that are needed: item..., tick, site, weight."""
    items = [item] if isinstance(item, str) else list(item)
    if not items:
        raise InputError("item: expected the name of a column, or several, got none")
    types = {field.name: field.dataType for field in events.schema.fields}
    for role, name in [("item", name) for name in items] + [("tick", tick), ("site", site), ("weight", weight)]:
        if name is not None and name not in types:
            raise InputError(f"{role}: there is no column {name!r}; the columns are {', '.join(sorted(types))}")
    columns = _items(items, types, config, numbers_only)
    names = [f"item_{i}" for i in range(len(columns))]
    chosen = [column.alias(name) for column, name in zip(columns, names, strict=True)]
    chosen.append(tick_column(tick, types[tick], config).alias("tick"))
    site_type: T.DataType = T.StringType()
    if site is not None:
        site_type = types[site]
        if not isinstance(site_type, (*_INTEGERS, T.StringType)):
            raise InputError(f"site: expected a column of strings or integers, got {site!r} of {_name(site_type)}")
        chosen.append((_column(site) if isinstance(site_type, T.StringType) else _bigint(site)).alias("site"))
    if weight is not None:
        if not isinstance(types[weight], _INTEGERS):
            raise InputError(f"weight: expected a column of integers, got {weight!r} of {_name(types[weight])}")
        chosen.append(_bigint(weight).alias("weight"))
    return Chosen(events.select(*chosen), names, site is not None, weight is not None, site_type)


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
    parts = [_column(name) if isinstance(types[name], _TEXTS) else _bigint(name) for name in names]
    if config.heavy_hitters or (len(parts) == 1 and not isinstance(types[names[0]], _TEXTS)):
        return parts
    known = parts[0].isNotNull()
    for part in parts[1:]:
        known = known & part.isNotNull()
    return [F.when(known, F.xxhash64(*parts))]  # the hash of null is not null


def tick_column(name: str, kind: T.DataType, config: SketchConfig) -> Column:
    """A tick: an integer as it is, a timestamp or a date in the config's unit."""
    if isinstance(kind, _INTEGERS):
        return _bigint(name)
    column = _column(name)
    if not isinstance(kind, T.TimestampType | T.TimestampNTZType | T.DateType):
        raise InputError(f"tick: expected integers, timestamps or dates, got {name!r} of {_name(kind)}")
    if config.unit is None:
        raise InputError(f"tick: {name!r} has {_name(kind)}s, but the config has no unit; set unit='s', for example")
    if isinstance(kind, T.DateType):
        days = F.unix_date(column).cast("bigint")
        return days * F.lit(TICKS_PER_DAY[config.unit])
    if isinstance(kind, T.TimestampNTZType):  # without a zone it counts as UTC, as everywhere
        micros = F.timestamp_diff("MICROSECOND", F.expr("TIMESTAMP_NTZ'1970-01-01 00:00:00'"), column)
    else:
        micros = F.unix_micros(column)
    if config.unit in ("us", "ns"):
        return micros * F.lit(1000 if config.unit == "ns" else 1)
    size = F.lit(TICKS_PER_DAY["us"] // TICKS_PER_DAY[config.unit])
    return ((micros - F.pmod(micros, size)) / size).cast("bigint")


def _column(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")


def _bigint(name: str) -> Column:
    return _column(name).cast("bigint")


def _name(kind: T.DataType) -> str:
    return kind.simpleString()
