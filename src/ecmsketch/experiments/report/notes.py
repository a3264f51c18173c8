"""What a reader of each table must know, the same for all streams."""

from __future__ import annotations

from ecmsketch.experiments.report.beyond_sections import BEYOND_NOTES

NOTES = {
    "table3": "Every rate is that of one core. Items are integers, and hashing is included.",
    "figure4": "Errors are shares of the arrivals in the range, or of their square for self-joins, over all ranges. "
    "Sketches are read as in the paper: half of the oldest bucket counts. Reserved waves have capacity for one event "
    "per millisecond from the start, as in the paper and in the figures.",
    "heaviest": "Relative errors are shares of the item's own count. The sketches are ECM-EH, read with interpolation.",
    "estimators": "These are relative errors of one counter that counts the stream's last events, over many ranges.",
    "levels": "These are relative errors of one counter that counts the stream's last events, read as in the paper.",
    "union": "Lazy union merges nothing: every question goes to the sketches of all sites, and the answers are added "
    "up. All sketches are read with interpolation.",
    "monitoring": "The question is whether the value over the last fifteenth of the time is above a threshold, chosen "
    "such that it is above it for a tenth of the time. The simulation runs the real sites and the real coordinator, "
    "and counts the bytes that they send. Synchronising uses the same encoding of changes as sites do, and needs no "
    "answers. Tuned synchronising has the longest period that is never wrong for more "
    "than a tenth of the range; choosing it takes knowledge of the future.",
    **BEYOND_NOTES,
}
