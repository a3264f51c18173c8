"""SQL functions over sketches, named like those of Spark's own sketches.

A null argument gives null. Bytes that are no sketch raise an error that names the row. `last` is in ticks; without it,
or with null, a question is about the whole window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache, partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf, udtf  # type: ignore[attr-defined]
from pyspark.sql.pandas.functions import ArrowUDFType

from ecmsketch.config import SketchConfig
from ecmsketch.errors import EcmError, FormatError, InputError, QueryError
from ecmsketch.sketch import EcmSketch
from ecmsketch.sketch.loading import AnySketch, load
from ecmsketch.sketch.merging import unite
from ecmsketch.sketch.prefix import PrefixSketch
from ecmsketch.spark.workers import use_driver_python

_load = lru_cache(maxsize=32)(partial(load, max_nbytes=2**28))
_TRUE = {"true": True, "false": False}
_PARTS = {"": "value", "_lower": "lower", "_upper": "upper"}


def register_functions(spark: SparkSession) -> None:
    """Make the functions of this module known to a session's SQL, also on Spark Connect."""
    use_driver_python(spark)
    for name, function in _scalar_functions().items():
        spark.udf.register(name, function)
    for name, aggregate in (("ecm_sketch_agg", _sketch_agg), ("ecm_union_agg", _union_agg)):
        spark.udf.register(name, arrow_udf(aggregate, "binary", ArrowUDFType.GROUPED_AGG))
    table: Any = udtf(_HeavyHitters, returnType=_HeavyHitters.schema)
    spark.udtf.register("ecm_heavy_hitters", table)


class _Question(NamedTuple):
    """A scalar function: its name, its arguments (the first `needed` must be given), and what computes its answer."""

    name: str
    arguments: tuple[str, ...]
    needed: int
    ask: Callable[..., Any]

    def check(self, columns: tuple[pa.Array, ...]) -> None:
        """Raise an error if the number of arguments or their types are wrong."""
        usage = _usage(self.name, self.arguments, self.needed)
        if not self.needed <= len(columns) <= len(self.arguments):
            raise InputError(f"{self.name}: expected {usage}, got {len(columns)} arguments")
        for name, column in zip(self.arguments, columns, strict=False):
            _check_type(f"{self.name}: {name}", column.type, _ALLOWED[name], usage)


def _usage(name: str, arguments: tuple[str, ...], needed: int) -> str:
    given = "".join(f"[, {argument}]" for argument in arguments[needed:])
    return f"{name}({', '.join(arguments[:needed])}{given})"


def _check_type(what: str, kind: Any, allowed: str, usage: str) -> None:
    if not (pa.types.is_null(kind) or any(_KINDS[name](kind) for name in allowed.split(" or "))):
        raise InputError(f"{what}: expected {allowed}, got {kind}; the call is {usage}")


_KINDS: dict[str, Callable[[Any], bool]] = {
    "integer": pa.types.is_integer,
    "number": lambda kind: pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind),
    "string": lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
    "binary": lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind),
    "timestamp": lambda kind: pa.types.is_timestamp(kind) or pa.types.is_date(kind),
}
_ALLOWED = {
    "sketch": "binary", "a": "binary", "b": "binary", "item": "string or binary or integer", "last": "integer",
    "q": "number", "x": "integer", "tick": "integer or timestamp", "epsilon": "number", "delta": "number",
    "window": "integer", "weight": "integer", "options": "string",
}  # fmt: skip


def _scalar_functions() -> dict[str, Any]:
    def answered(name: str, arguments: str, needed: int, ask: Callable[..., Any], kind: str, arrow: Any) -> Any:
        question = _Question(name, tuple(arguments.split()), needed, ask)

        def answer(*columns: pa.Array) -> pa.Array:
            return _answer(question, columns, arrow)

        return arrow_udf(answer, kind)

    def number(name: str, arguments: str, needed: int, ask: Callable[..., Any]) -> Any:
        return answered(name, arguments, needed, ask, "double", pa.float64())

    def point(name: str, part: str) -> Any:
        question = _Question(name, ("sketch", "item", "last"), 2, getattr)

        def answer(*columns: pa.Array) -> pa.Array:
            question.check(columns)
            return _estimates(columns, part)

        return arrow_udf(answer, "double")

    made = {f"ecm_sketch_estimate{end}": point(f"ecm_sketch_estimate{end}", part) for end, part in _PARTS.items()}
    for name, arguments, needed, ask in (
        ("ecm_sketch_get_n", "sketch last", 1, lambda sketch, last=None: sketch.total(last).value),
        ("ecm_sketch_self_join", "sketch last", 1, lambda sketch, last=None: _plain(sketch).self_join(last).value),
        ("ecm_sketch_inner_product", "a b last", 2, _inner_product),
        ("ecm_sketch_get_rank", "sketch x last", 2, lambda sketch, x, last=None: _ordered(sketch).rank(x, last).value),
    ):
        made[name] = number(name, arguments, needed, ask)
    made["ecm_sketch_get_quantile"] = answered(
        "ecm_sketch_get_quantile", "sketch q last", 2,
        lambda sketch, q, last=None: int(_ordered(sketch).quantile(float(q), last).value), "bigint", pa.int64(),
    )  # fmt: skip
    made["ecm_sketch_to_string"] = answered("ecm_sketch_to_string", "sketch", 1, _told, "string", pa.string())
    made["ecm_union"] = answered("ecm_union", "a b", 2, _union, "binary", pa.binary())
    return made


def _told(sketch: AnySketch) -> str:
    """What a sketch is. Its memory is said without what is remembered of other questions about it."""
    return repr(load(sketch.serialize(), max_nbytes=None))


def _sketch_agg(*columns: pa.Array) -> bytes:
    """ecm_sketch_agg(item, tick, epsilon, delta, window[, weight][, options]): a sketch of a group's rows.

    Rows with a null are left out. `options` is a text of further fields of SketchConfig: 'heavy_hitters=true,unit=s'.
    """
    usage = "ecm_sketch_agg(item, tick, epsilon, delta, window[, weight][, options])"
    if not 5 <= len(columns) <= 7:
        raise InputError(f"ecm_sketch_agg: expected {usage}, got {len(columns)} arguments")
    given = dict(zip(("item", "tick", "epsilon", "delta", "window"), columns, strict=False))
    for column in columns[5:]:
        name = "options" if _KINDS["string"](column.type) else "weight"
        if name in given:
            raise InputError(f"ecm_sketch_agg: {name} is given twice; the call is {usage}")
        given[name] = column
    for name, column in given.items():
        _check_type(f"ecm_sketch_agg: {name}", column.type, _ALLOWED[name], usage)
    items, ticks, weights = given["item"], given["tick"], given.get("weight")
    epsilon, delta, window = (_constant(given[name], name) for name in ("epsilon", "delta", "window"))
    options = _options(_constant(given["options"], "options", "") if "options" in given else "")
    config = SketchConfig(epsilon=float(epsilon), delta=float(delta), window=int(window), **options)
    keep = np.ones(len(items), bool)
    for column in (items, ticks, weights):
        if column is not None and column.null_count:
            keep &= column.is_valid().to_numpy(zero_copy_only=False)
    rows = pa.array(np.flatnonzero(keep))
    sketch = EcmSketch(config, site=f"{len(items)}")
    counts = None if weights is None else weights.take(rows)
    sketch.update_many(items.take(rows), ticks.take(rows), counts)
    return sketch.serialize()


def _constant(column: pa.Array, name: str, missing: Any = None) -> Any:
    """The one value of a column that must not vary within a group."""
    values = column.unique().to_pylist()
    if len(values) > 1:
        raise InputError(
            f"ecm_sketch_agg: {name} must be the same in all rows of a group, got {values[0]!r} and {values[1]!r}; "
            f"give a literal, or group by {name} too"
        )
    if values[0] is None and missing is None:
        raise InputError(f"ecm_sketch_agg: {name} must not be null; give a literal")
    return missing if values[0] is None else values[0]


def _union_agg(*columns: pa.Array) -> bytes | None:
    """ecm_union_agg(sketch): one sketch of all in a group; nulls are left out."""
    if len(columns) != 1:
        raise InputError(f"ecm_union_agg: expected ecm_union_agg(sketch), got {len(columns)} arguments")
    (sketches,) = columns
    _check_type("ecm_union_agg: sketch", sketches.type, "binary", "ecm_union_agg(sketch)")
    found = [_decode(data, row) for row, data in enumerate(sketches.to_pylist()) if data is not None]
    return unite(found).serialize() if found else None


class _HeavyHitters:
    """ecm_heavy_hitters(sketch, phi[, last]): a row for each item with at least a share phi of the arrivals."""

    schema = "item string, estimate double, lower double, upper double"
    usage = "the call is ecm_heavy_hitters(sketch, phi[, last])"

    def eval(self, *arguments: Any) -> Iterator[tuple[str, float, float, float]]:
        """The rows, most frequent item first."""
        if not 2 <= len(arguments) <= 3:
            raise InputError(f"ecm_heavy_hitters: got {len(arguments)} arguments; {self.usage}")
        sketch, phi, last = (*arguments, None)[:3]
        if sketch is None or phi is None:
            return
        if not isinstance(sketch, bytes | bytearray):
            raise InputError(f"ecm_heavy_hitters: sketch: expected binary, got {type(sketch).__name__}; {self.usage}")
        if not isinstance(phi, Real | Decimal) or isinstance(phi, bool):
            raise InputError(f"ecm_heavy_hitters: phi: expected number, got {type(phi).__name__}; {self.usage}")
        for hitter in _decode(bytes(sketch), 0).heavy_hitters(float(phi), last):
            item = hitter.item.decode(errors="replace") if isinstance(hitter.item, bytes) else str(hitter.item)
            yield item, hitter.estimate.value, hitter.estimate.lower, hitter.estimate.upper


def _options(text: str) -> dict[str, Any]:
    """Parse options such as 'heavy_hitters=true,unit=s' into keyword arguments."""
    options: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        if name.strip() not in SketchConfig.__dataclass_fields__ or not value:
            raise InputError(f"options: expected field=value of SketchConfig, separated by commas, got {part!r}")
        options[name.strip()] = _setting(value.strip())
    return options


def _setting(text: str) -> Any:
    """The value of an option: a truth, a number or a text."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return _TRUE.get(text.lower(), text)


def _decode(data: Any, row: int) -> AnySketch:
    try:
        return _load(bytes(data))
    except FormatError as error:
        raise FormatError(f"row {row} of a batch of sketches: {error}") from error


def _answer(question: _Question, columns: tuple[pa.Array, ...], kind: Any) -> pa.Array:
    """Answer a question row by row. Only its last argument, `last`, may be null."""
    question.check(columns)
    answers: list[Any] = []
    lists = [column.to_pylist() for column in columns]
    for row, arguments in enumerate(zip(*lists, strict=True)):
        if any(argument is None for argument in arguments[: question.needed]):
            answers.append(None)
            continue
        try:
            given = [_decode(arg, row) if isinstance(arg, bytes) else arg for arg in arguments]
            answers.append(question.ask(*given))
        except FormatError:
            raise
        except EcmError as error:
            raise type(error)(f"row {row} of a batch: {error}") from error
    return pa.array(answers, kind)


def _estimates(columns: tuple[pa.Array, ...], part: str) -> pa.Array:
    """Estimates of many items; those of one sketch and range are made at once."""
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


def _plain(sketch: AnySketch) -> EcmSketch:
    if not isinstance(sketch, EcmSketch):
        raise QueryError(f"expected an EcmSketch, got a {type(sketch).__name__}")
    return sketch


def _ordered(sketch: AnySketch) -> PrefixSketch:
    if not isinstance(sketch, PrefixSketch):
        raise QueryError(f"expected a PrefixSketch, got an {type(sketch).__name__}; build it with bits=")
    return sketch


def _inner_product(one: AnySketch, other: AnySketch, last: Any = None) -> float:
    return _plain(one).inner_product(_plain(other), last).value


def _union(one: AnySketch, other: AnySketch) -> bytes:
    return unite([one, other]).serialize()
