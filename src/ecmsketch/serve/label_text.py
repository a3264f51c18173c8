"""Names as label values of metrics: text from outside, made short and kept distinct."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

LENGTH = 128
"""Characters of a label's value."""


def label(text: str) -> str:
    """A text as a label's value: a long one is cut, and gets a hash of the whole, so that two stay two."""
    return text if len(text) <= LENGTH else f"{text[: LENGTH - 20]}…{_hash(text)}"


def labels(texts: Sequence[str]) -> list[str]:
    """Label values for some names. Two names that would look the same get a number: two samples must differ."""
    seen: dict[str, int] = {}
    found = []
    for text in texts:
        short = label(text)
        count = seen[short] = seen.get(short, 0) + 1
        found.append(short if count == 1 else f"{short} ({count})")
    return found


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
