"""Items as text: read as the kind of item that a sketch counts, and shown so that they can be typed again."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

from ecmsketch.errors import QueryError
from ecmsketch.inputs.kinds import ANY, INTEGER, TEXT, Kinds, describe

_NUMBER = re.compile(r"[+-]?[0-9]{1,20}")


def parse_item(text: str, kinds: Kinds) -> list[Any]:
    """Read a text as items: one for each kind of item that the sketch counts and that the text fits.

    A row of several columns is written as a JSON list, or as a line of CSV: `10.0.0.1,443`.

    >>> parse_item("28487", frozenset({"i"})), parse_item("28487", frozenset({"t"}))
    ([28487], ['28487'])
    >>> parse_item("10.0.0.1,443", frozenset({"ti"}))
    [('10.0.0.1', 443)]
    """
    known = {INTEGER, TEXT} if ANY in kinds else kinds or {TEXT}
    found = [item for kind in sorted(known) for item in _parse(text, kind)]
    if not found:
        raise QueryError(f"item: expected {describe(kinds)}, as the sketch counts, got {text!r}{_row_help(kinds)}")
    return found


def show_item(item: Any, kinds: Kinds) -> str:
    """Show an item as `parse_item` reads it. Texts are quoted where 7 and "7" could be confused."""
    if isinstance(item, tuple):
        return _show_row([_plain(part) for part in item])
    plain = _plain(item)
    return json.dumps(plain, ensure_ascii=False) if isinstance(plain, str) and len(kinds) > 1 else str(plain)


def json_item(item: Any) -> Any:
    """Convert an item to JSON: 7 is a number, "7" a string, a row of several columns a list."""
    if isinstance(item, tuple):
        return [json_item(part) for part in item]
    if isinstance(item, bytes):
        try:
            return item.decode()
        except UnicodeDecodeError:
            return {"hex": item.hex()}
    return item


def _show_row(parts: list[Any]) -> str:
    """Show a row as CSV, or as JSON if the CSV would be read as something else."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(parts)
    text = line.getvalue()
    return text if _parse_row(text) == [str(part) for part in parts] else json.dumps(parts, ensure_ascii=False)


def _plain(part: Any) -> Any:
    return part.decode(errors="backslashreplace") if isinstance(part, bytes) else part


def _row_help(kinds: Kinds) -> str:
    rows = [kind for kind in kinds if len(kind) > 1]
    if not rows:
        return ""
    example = json.dumps(["x" if letter == TEXT else 1 for letter in min(rows)])
    return f"; write a row as a JSON list such as '{example}', or as CSV"


def _parse(text: str, kind: str) -> list[Any]:
    if kind == TEXT:
        return [text]
    if kind == INTEGER:
        return _parse_integer(text)
    parts = _parse_row(text)
    if parts is None or len(parts) != len(kind):
        return []
    row = [_parse_part(part, letter) for part, letter in zip(parts, kind, strict=True)]
    return [tuple(part[0] for part in row)] if all(row) else []


def _parse_part(part: Any, letter: str) -> list[Any]:
    if isinstance(part, str):
        return _parse(part, letter)
    return [part] if isinstance(part, int) and not isinstance(part, bool) and letter == INTEGER else []


def _parse_integer(text: str) -> list[int]:
    if _NUMBER.fullmatch(text.strip()) is None:
        return []
    number = int(text)
    return [number] if -(2**63) <= number < 2**64 else []


def _parse_row(text: str) -> list[Any] | None:
    if text.lstrip().startswith("["):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, list) else None
    try:
        rows = list(csv.reader([text], strict=True))
    except csv.Error:
        return None
    return list(rows[0]) if rows else None
