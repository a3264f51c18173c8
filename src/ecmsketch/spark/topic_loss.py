"""What Spark says when messages of a topic were deleted before they were read, said in plain words."""

from __future__ import annotations

import re

_LOST = re.compile(
    r"\[KAFKA_DATA_LOSS[^\n]*|[^\n]*OffsetOutOfRangeException[^\n]*|[^\n]*ome data may have been (?:lost|missed)[^\n]*"
)
_MOST_SHOWN = 200


def lost_messages(text: str) -> str | None:
    """What to do about messages that are gone, if an error of Spark says that some are."""
    found = _LOST.search(text)
    if found is None:
        return None
    said = found[0].strip()
    return (
        "topic: messages were deleted before this query had read them, by their age, their number or by hand. To go on "
        "without them, start again with --allow-loss (in Python: failOnDataLoss=false); to count what is there anew, "
        f"with a new checkpoint. Spark said: {said[:_MOST_SHOWN]}"
    )
