"""Control frames: short JSON texts beside the messages of the monitor, which are binary frames.

hello    site to coordinator, first: name, id of its state, version, and the run of the coordinator it last saw
welcome  coordinator to site: the watch, how often to send a beat, after which silence it counts as missing, its
         run, and whether the site must begin anew
refused  coordinator to site: why not; the connection is closed then
beat     both ways: "I am alive". A site says its clock and what it has counted
bye      site to coordinator: it is stopped on purpose
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ecmsketch.errors import FormatError

VERSION = 1
MAX_CONTROL = 2**16
"""Bytes of a control frame."""
PATH = "/ecmsketch"
"""The path that sites ask for."""


class Beat(NamedTuple):
    """A site's clock, and what it has counted since it first began."""

    tick: int = 0
    events: int = 0
    rejected: int = 0
    late: int = 0
    lost: int = 0


def write_control(kind: str, value: Any = None) -> str:
    """A control frame."""
    return json.dumps({kind: value}, ensure_ascii=False, separators=(",", ":"))


def read_control(text: str, *expected: str) -> tuple[str, Any]:
    """The kind and value of a control frame; a FormatError unless it is one of those expected."""
    if len(text) > MAX_CONTROL:
        raise FormatError(f"control frame: expected at most {MAX_CONTROL} characters, got {len(text)}")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"control frame: this is not JSON ({error})") from error
    if not isinstance(found, dict) or len(found) != 1 or next(iter(found)) not in expected:
        raise FormatError(f"control frame: expected {' or '.join(expected)}, got {text[:60]!r}")
    ((kind, value),) = found.items()
    return kind, value


def read_beat(value: Any) -> Beat:
    """A site's beat."""
    if not isinstance(value, list) or len(value) != len(Beat._fields) or not all(map(_is_count, value)):
        raise FormatError(f"control frame: expected a beat of {len(Beat._fields)} numbers, got {str(value)[:60]!r}")
    return Beat(*value)


def text_field(value: Any, name: str, most: int = 1024) -> str:
    """A text in the value of a control frame."""
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, str) or len(found) > most:
        raise FormatError(f"control frame: expected a text for {name!r}, got {str(found)[:60]!r}")
    return found


def number_field(value: Any, name: str) -> float:
    """A number above 0 in the value of a control frame."""
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, int | float) or isinstance(found, bool) or not 0 < found < 2**40:
        raise FormatError(f"control frame: expected a number above 0 for {name!r}, got {str(found)[:60]!r}")
    return found


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
