"""Which of many rows count, found from columns without making an object of each (stored_rows.py says which do)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc

from ecmsketch.inputs.ticks import MIN_TICK


def live_mask(facts: Any) -> Any:
    """For each row, whether it is live."""
    if not len(facts):
        return np.zeros(0, bool)
    stream = _streams(facts)
    order = np.lexsort((_numbers(facts["position"]), _numbers(facts["version"]), stream))
    stream = stream[order]
    begins = np.flatnonzero(np.r_[True, stream[1:] != stream[:-1]])
    lengths = np.diff(np.r_[begins, len(stream)])
    generation = _numbers(facts["generation"], 0)[order]
    newest = generation == np.repeat(np.maximum.reduceat(generation, begins), lengths)
    snapshot = np.asarray(pc.equal(facts["part"], "snapshot"))[order] & newest
    place = np.arange(len(stream))
    last = np.repeat(np.maximum.reduceat(np.where(snapshot, place, -1), begins), lengths)  # of the newest generation
    end = _numbers(facts["last_tick"], MIN_TICK)[order]
    adds = ~snapshot & ((place > last) | (end > end[last]))  # where there is no snapshot, every place is after it
    live = np.empty(len(stream), bool)
    live[order] = newest & ((place == last) | adds)
    return live


def _streams(facts: Any) -> Any:
    """A number for each row's site and writer."""
    sites = _codes(facts["site"])
    writers = _codes(facts["writer"])
    return sites * (int(writers.max()) + 1) + writers


def _codes(column: Any) -> Any:
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return _numbers(encoded.indices.cast("int64"))


def _numbers(column: Any, missing: int | None = None) -> Any:
    """A column of integers; a null counts as `missing`."""
    return (column if missing is None else pc.fill_null(column, missing)).to_numpy()
