"""What a reader of each table must know, the same for all streams."""

from __future__ import annotations

from ecmsketch.experiments.report.beyond_sections import BEYOND_NOTES

NOTES = {
    "table2": "Times are those of one Python call on one core, at epsilon 0.1. A batch is one call for 1,000 events. "
    "Answers of a range may be remembered until something arrives; so a query after an update, and the same one again, "
    "are both shown.",
    "table3": "Every rate is that of one core. Items are integers, and hashing is included. The paper "
    "mentions no batches, so like is compared with like in the column of one call per event. Slices and the sharper "
    "ECM-EH are not in the paper.",
    "figure4": "Every query over all ranges counts once. *Without collisions* is the error of the window counters "
    "alone: cells are compared with the exact number of arrivals that were hashed to them. ECM-DW as published has "
    "capacity for one event per millisecond from the start. ECM-RW is run with the constant of decision 7; its memory "
    "with the published constant c = 36 is computed from the config, for the arrivals of this stream. Stars are "
    "numbers that the paper prints; its plots were not read off. Bars in figures are 95 % intervals over seeds; on "
    "logarithmic axes they end at a fifth of the mean where they would reach further down.",
    "table4": "The paper merges up a binary tree. The n-way merge, in which all sites send to one place, is ours. "
    "Other seeds than the first are run for the cells of table 4 only, and not for ECM-RW.",
    "figure6": "Events are dealt out to sites at random. ECM-RW is run with one seed.",
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
