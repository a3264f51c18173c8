"""A watch as JSON, so that the coordinator can tell its sites what they watch."""

from __future__ import annotations

import json
from dataclasses import fields
from hashlib import sha256
from typing import Any

from ecmsketch.config import SketchConfig
from ecmsketch.errors import ConfigError, EcmError, FormatError
from ecmsketch.monitor import (
    Above,
    AnyItem,
    AnyShare,
    Between,
    Frequency,
    HeavyHitterShare,
    InnerProduct,
    SelfJoin,
    Total,
    Tracking,
    Watch,
)

_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Above, AnyItem, AnyShare, Between, Frequency, HeavyHitterShare, InnerProduct, SelfJoin, SketchConfig, Total,
        Tracking, Watch,
    )
}  # fmt: skip


def write_watch(watch: Watch) -> str:
    """A watch as one line of JSON: equal watches give equal texts."""
    return json.dumps(_put(watch), sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def read_watch(text: str) -> Watch:
    """The watch that `write_watch` wrote; a FormatError if the text is anything else."""
    try:
        watch = _take(json.loads(text))
    except (ValueError, TypeError, RecursionError, EcmError) as error:
        raise FormatError(f"watch: this is no watch that is known here ({error}); use the same version of ecmsketch "
                          "for sites and coordinator") from error  # fmt: skip
    if not isinstance(watch, Watch):
        raise FormatError(f"watch: expected a watch, got {type(watch).__name__}")
    return watch


def digest(watch: Watch) -> str:
    """A short name of a watch: the same for equal watches only."""
    return sha256(write_watch(watch).encode()).hexdigest()[:32]


def _put(value: Any) -> Any:
    if type(value) in _KINDS.values():
        return {
            "kind": type(value).__name__,
            **{field.name: _put(getattr(value, field.name)) for field in fields(value)},
        }
    if isinstance(value, bytes):
        return {"kind": "bytes", "hex": value.hex()}
    if isinstance(value, tuple):
        return {"kind": "row", "columns": [_put(part) for part in value]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ConfigError(f"watch: {value!r} cannot be sent to sites; use one of {', '.join(sorted(_KINDS))}")


def _take(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    given = dict(value)
    kind = given.pop("kind", None)
    if kind == "bytes":
        return bytes.fromhex(given["hex"])
    if kind == "row":
        return tuple(_take(part) for part in given["columns"])
    if kind not in _KINDS:
        raise ValueError(f"unknown kind {kind!r}")
    return _KINDS[kind](**{name: _take(part) for name, part in given.items()})
