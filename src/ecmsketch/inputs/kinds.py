"""Item kinds: whether items are integers, texts, or rows of several columns.

The integer 7 and the text "7" are different items with different hashes. A sketch that counts one of them would
answer 0 for the other. So it remembers the kinds of its items, and refuses questions of any other kind.

A kind is one letter for each column: "i" for integers, "t" for texts and bytes (which hash alike). So "i" is an
integer, and "ti" a row of a text and an integer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ecmsketch.errors import FormatError, QueryError

if TYPE_CHECKING:  # the command line shows its help without numpy
    from numpy.typing import NDArray

Kinds = frozenset[str]

INTEGER, TEXT, ANY = "i", "t", "*"
"""ANY stands for more kinds than a sketch keeps track of."""
MAX_COLUMNS = 64
MAX_KINDS = 16

NOTHING: Kinds = frozenset()
EVERYTHING: Kinds = frozenset({ANY})
INTEGERS: Kinds = frozenset({INTEGER})
_TEXTS: Kinds = frozenset({TEXT})

_LETTERS: dict[type, str] = {int: INTEGER, bool: INTEGER, str: TEXT, bytes: TEXT}
_KIND = re.compile(rf"[{INTEGER}{TEXT}]{{1,{MAX_COLUMNS}}}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,20}")
_WORDS = {INTEGER: "integer", TEXT: "text"}


class Hashed(NamedTuple):
    """Items that were hashed elsewhere, such as by Spark's `xxhash64`, and the kind they had before."""

    keys: NDArray[Any]
    kind: str

    def __len__(self) -> int:
        return len(self.keys)


def kind_of(item: Any) -> str:
    """The kind of one item that can be hashed."""
    if isinstance(item, tuple):
        return "".join(map(kind_of, item)) if len(item) <= MAX_COLUMNS else ANY
    return _LETTERS.get(item.__class__) or (TEXT if isinstance(item, str | bytes) else INTEGER)


def kinds_of(items: Any, columns: list[Any] | None) -> Kinds:
    """The kinds of many items; `columns` are those of items that are rows of several."""
    if columns is None and items.__class__ is not Hashed:
        return _limited(_kinds_of_column(items))
    if isinstance(items, Hashed):
        return frozenset({items.kind}) if len(items) else NOTHING
    assert columns is not None
    found = [_kinds_of_column(column) for column in columns]
    if not all(found):
        return NOTHING
    simple = len(columns) <= MAX_COLUMNS and all(len(kinds) == 1 for kinds in found)
    return frozenset({"".join(next(iter(kinds)) for kinds in found)}) if simple else EVERYTHING


def unite_kinds(parts: Iterable[Kinds]) -> Kinds:
    """The kinds of several sketches together."""
    return _limited(frozenset().union(*parts))


def share_kinds(one: Kinds, other: Kinds) -> bool:
    """Whether two sketches may have counted an item in common."""
    return not one or not other or ANY in one | other or bool(one & other)


def check_asked(counted: Kinds, asked: Kinds, item: str = "") -> None:
    """Refuse a question about items of a kind that was never counted, whose answer would always be 0."""
    if not counted or ANY in counted or asked <= counted:
        return
    which = f"{item} is" if item else "some of those asked for are"
    raise QueryError(
        f"item: {which} of kind {describe(asked - counted)}, but this sketch counts items of kind {describe(counted)}; "
        f"convert the item: {_conversion(counted)}"
    )


def describe(kinds: Kinds) -> str:
    """Kinds in words: "integer", "text or (text, integer)"."""
    return " or ".join(_describe(kind) for kind in sorted(kinds))


def encode_kinds(kinds: Kinds) -> bytes:
    """Kinds as bytes, by docs/format.md."""
    return ",".join(sorted(kinds)).encode()


def decode_kinds(data: bytes) -> Kinds:
    """The kinds that `encode_kinds` wrote."""
    names = data.decode("latin-1").split(",") if data else []
    good = names == [ANY] or (len(names) <= MAX_KINDS and all(map(_KIND.fullmatch, names)))
    if not good or names != sorted(set(names)):
        raise FormatError("item kinds: expected up to 16 of them in order, each a letter i or t for every column")
    return frozenset(names)


def _kinds_of_column(items: Any) -> Kinds:
    if not len(items):
        return NOTHING
    if items.__class__ is list:
        return _kinds_of_objects(items)
    dtype = getattr(items, "dtype", None)
    code = getattr(dtype, "kind", "O")
    if code in "iub":
        return INTEGERS
    kind = getattr(items, "type", None)  # Arrow
    if kind is not None and hasattr(kind, "value_type"):
        kind = kind.value_type
    if kind is not None:
        return INTEGERS if "int" in str(kind) else _TEXTS
    if code in "US" or str(dtype).startswith("str"):
        return _TEXTS
    return _kinds_of_objects(items)


def _kinds_of_objects(items: Any) -> Kinds:
    classes = set(map(type, items))
    kinds = {_LETTERS[found] for found in classes & _LETTERS.keys()}
    rest = classes - _LETTERS.keys()
    if rest:
        kinds |= {kind_of(item) for item in items if item.__class__ in rest}
    return frozenset(kinds)


def _limited(kinds: Kinds) -> Kinds:
    return EVERYTHING if len(kinds) > MAX_KINDS or ANY in kinds else kinds


def _describe(kind: str) -> str:
    if kind == ANY:
        return "item of any kind"
    words = [_WORDS[letter] for letter in kind]
    return words[0] if len(words) == 1 else f"({', '.join(words)})"


def _conversion(counted: Kinds) -> str:
    if counted == {INTEGER}:
        return "int('7') is 7"
    if counted == {TEXT}:
        return "str(7) is '7'"
    return f"an example is {_example(min(counted, key=len))!r}"


def _example(kind: str) -> Any:
    parts = tuple("a" if letter == TEXT else 7 for letter in kind)
    return parts if len(parts) > 1 else parts[0]
