"""How far a query has read the topics of Kafka, in words for one line of progress."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_MOST_SHOWN = 8
"""Topics with more partitions are shown by the sum of their offsets."""


def topic_progress(end: str | None, latest: str | None) -> Iterator[str]:
    """Offsets and lag of each topic, from the offsets of a source as JSON; nothing for sources that have no topics.

    end     up to where the trigger has read
    latest  up to where the topic went when the trigger was planned
    """
    read, there = _offsets(end), _offsets(latest)
    for topic, offsets in read.items():
        if len(offsets) <= _MOST_SHOWN:
            shown = " ".join(f"{number}:{offsets[number]}" for number in sorted(offsets, key=int))
        else:
            shown = f"{sum(offsets.values())} in {len(offsets)} partitions"
        newest = there.get(topic, offsets)
        lag = sum(max(newest[number] - offsets.get(number, 0), 0) for number in newest)
        yield f"{topic}: offsets {shown}, lag {lag:,}"


def _offsets(text: str | None) -> dict[str, dict[str, int]]:
    """Offsets by topic and partition; empty if the text is of another kind of source."""
    try:
        found: Any = json.loads(text or "")
    except ValueError:
        return {}
    if not isinstance(found, dict) or not all(_of_partitions(offsets) for offsets in found.values()):
        return {}
    return found


def _of_partitions(offsets: Any) -> bool:
    return isinstance(offsets, dict) and all(
        number.isdigit() and type(offset) is int for number, offset in offsets.items()
    )
