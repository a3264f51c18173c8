"""SQL functions over sketches, named as Spark names those of its own sketches.

Null in, null out. Bytes that are no sketch are an error that names the row. `last` is in ticks; without it, or with
null, a question is about the whole window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf, udtf  # type: ignore[attr-defined]

from ecmsketch.config import SketchConfig
from ecmsketch.errors import EcmError, FormatError, InputError, QueryError
from ecmsketch.loading import Sketch, load
from ecmsketch.prefix import PrefixSketch
from ecmsketch.sketch import EcmSketch
from ecmsketch.uniting import unite

_load = lru_cache(maxsize=32)(load)
_TRUE = {"true": True, "false": False}


def register_functions(spark: SparkSession) -> None:
    """Make the functions of this module known to a session's SQL, also on Spark Connect."""
    for name, function in _scalar_functions().items():
        spark.udf.register(name, function)
    for name, aggregate in (("ecm_sketch_agg", _sketch_agg), ("ecm_union_agg", _union_agg)):
        spark.udf.register(name, arrow_udf(aggregate, "binary"))
    table: Any = udtf(_HeavyHitters, returnType=_HeavyHitters.schema)
    spark.udtf.register("ecm_heavy_hitters", table)


def _scalar_functions() -> dict[str, Any]:
    def number(ask: Callable[..., Any]) -> Any:
        def answer(*columns: pa.Array) -> pa.Array:
            return _answer(ask, columns, pa.float64())

        return arrow_udf(answer, "double")

    def point(part: str) -> Any:
        def answer(*columns: pa.Array) -> pa.Array:
            return _estimates(columns, part)

        return arrow_udf(answer, "double")

    def other(ask: Callable[..., Any], kind: str, arrow: Any) -> Any:
        def answer(*columns: pa.Array) -> pa.Array:
            return _answer(ask, columns, arrow)

        return arrow_udf(answer, kind)

    return {
        "ecm_sketch_estimate": point("value"),
        "ecm_sketch_estimate_lower": point("lower"),
        "ecm_sketch_estimate_upper": point("upper"),
        "ecm_sketch_get_n": number(lambda sketch, last=None: sketch.total(last).value),
        "ecm_sketch_self_join": number(lambda sketch, last=None: _plain(sketch).self_join(last).value),
        "ecm_sketch_inner_product": number(_inner_product),
        "ecm_sketch_get_rank": number(lambda sketch, x, last=None: _ordered(sketch).rank(x, last).value),
        "ecm_sketch_get_quantile": other(
            lambda sketch, q, last=None: int(_ordered(sketch).quantile(float(q), last).value), "bigint", pa.int64()
        ),
        "ecm_sketch_to_string": other(lambda sketch: repr(sketch), "string", pa.string()),
        "ecm_union": other(_union, "binary", pa.binary()),
    }


def _sketch_agg(*columns: pa.Array) -> Any:
    """ecm_sketch_agg(item, tick, epsilon, delta, window[, weight][, options]): a sketch of a group's rows.

    Rows with a null are left out. `options` is a text of further fields of SketchConfig: 'heavy_hitters=true,unit=s'.
    """
    if len(columns) < 5:
        raise InputError("ecm_sketch_agg: expected (item, tick, epsilon, delta, window[, weight][, options])")
    items, ticks, epsilon, delta, window, *more = columns
    weights: Any = None
    options = ""
    for column in more:
        if pa.types.is_string(column.type):
            options = column[0].as_py() or ""
        else:
            weights = column
    settings = [column[0].as_py() for column in (epsilon, delta, window)]
    if any(setting is None for setting in settings):
        raise InputError("ecm_sketch_agg: epsilon, delta and window must not be null")
    config = SketchConfig(
        epsilon=float(settings[0]), delta=float(settings[1]), window=int(settings[2]), **_options(options)
    )
    keep = np.ones(len(items), bool)
    for column in (items, ticks, weights):
        if column is not None and column.null_count:
            keep &= column.is_valid().to_numpy(zero_copy_only=False)
    rows = pa.array(np.flatnonzero(keep))
    sketch = EcmSketch(config, site=f"{len(items)}")
    counts = None if weights is None else weights.take(rows)
    sketch.update_many(items.take(rows), ticks.take(rows), counts)
    return sketch.serialize()


_sketch_agg.__annotations__ = {"columns": pa.Array, "return": bytes}


def _union_agg(sketches: pa.Array) -> Any:
    """ecm_union_agg(sketch): one sketch of all in a group; nulls are left out."""
    found = [_decode(data, row) for row, data in enumerate(sketches.to_pylist()) if data is not None]
    return unite(found).serialize() if found else None


_union_agg.__annotations__ = {"sketches": pa.Array, "return": bytes}


class _HeavyHitters:
    """ecm_heavy_hitters(sketch, phi[, last]): a row for each item that came at least a share phi of the arrivals."""

    schema = "item string, estimate double, lower double, upper double"

    def eval(self, sketch: Any, phi: Any, last: Any = None) -> Iterator[tuple[str, float, float, float]]:
        """Rows, most frequent first."""
        if sketch is None or phi is None:
            return
        for hitter in _decode(bytes(sketch), 0).heavy_hitters(float(phi), last):
            item = hitter.item.decode(errors="replace") if isinstance(hitter.item, bytes) else str(hitter.item)
            yield item, hitter.estimate.value, hitter.estimate.lower, hitter.estimate.upper


def _options(text: str) -> dict[str, Any]:
    """'heavy_hitters=true,unit=s' as keyword arguments."""
    options: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        if name.strip() not in SketchConfig.__dataclass_fields__ or not value:
            raise InputError(f"options: expected field=value of SketchConfig, separated by commas, got {part!r}")
        value = value.strip()
        number = value.lstrip("-").isdigit()
        options[name.strip()] = _TRUE.get(value.lower(), int(value) if number else value)
    return options


def _decode(data: Any, row: int) -> Sketch:
    try:
        return _load(bytes(data))
    except FormatError as error:
        raise FormatError(f"row {row} of a batch of sketches: {error}") from error


def _answer(ask: Callable[..., Any], columns: tuple[pa.Array, ...], kind: Any) -> pa.Array:
    """Row by row; the last argument of a question, `last`, may be null."""
    answers: list[Any] = []
    lists = [column.to_pylist() for column in columns]
    needed = ask.__code__.co_argcount - len(ask.__defaults__ or ())
    for row, arguments in enumerate(zip(*lists, strict=True)):
        if any(argument is None for argument in arguments[:needed]):
            answers.append(None)
            continue
        try:
            given = [_decode(arg, row) if isinstance(arg, bytes) else arg for arg in arguments]
            answers.append(ask(*given))
        except FormatError:
            raise
        except EcmError as error:
            raise type(error)(f"row {row} of a batch: {error}") from error
    return pa.array(answers, kind)


def _estimates(columns: tuple[pa.Array, ...], part: str) -> pa.Array:
    """Estimates of many items, those of one sketch and range at once."""
    if not 2 <= len(columns) <= 3:
        raise InputError(f"ecm_sketch_estimate: expected (sketch, item[, last]), got {len(columns)} arguments")
    sketches, items = columns[0].to_pylist(), columns[1]
    lasts = columns[2].to_pylist() if len(columns) == 3 else [None] * len(sketches)
    known = items.is_valid().to_pylist()
    groups: dict[tuple[bytes, Any], list[int]] = {}
    for row, data in enumerate(sketches):
        if data is not None and known[row]:
            groups.setdefault((data, lasts[row]), []).append(row)
    answers = np.full(len(sketches), np.nan)
    for (data, last), rows in groups.items():
        sketch = _decode(data, rows[0])
        asked = items.take(pa.array(rows))
        if isinstance(sketch, PrefixSketch):
            answers[rows] = [getattr(sketch.estimate(item, last), part) for item in asked.to_pylist()]
        else:
            answers[rows] = getattr(sketch.estimate_many(asked, last), part)
    return pa.array(answers, pa.float64(), mask=np.isnan(answers))


def _plain(sketch: Sketch) -> EcmSketch:
    if not isinstance(sketch, EcmSketch):
        raise QueryError(f"expected an EcmSketch, got a {type(sketch).__name__}")
    return sketch


def _ordered(sketch: Sketch) -> PrefixSketch:
    if not isinstance(sketch, PrefixSketch):
        raise QueryError(f"expected a PrefixSketch, got an {type(sketch).__name__}; build it with bits=")
    return sketch


def _inner_product(one: Sketch, other: Sketch, last: Any = None) -> float:
    return _plain(one).inner_product(_plain(other), last).value


def _union(one: Sketch, other: Sketch) -> bytes:
    return unite([one, other]).serialize()
