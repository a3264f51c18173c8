"""One counter alone: every event of a stream counts as the same item, so nothing collides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.experiments.data.event_stream import WINDOW, Stream, newest_events
from ecmsketch.sketch import EcmSketch

ITEM = 1


def last_ticks(stream: Stream, most: int) -> NDArray[np.int64]:
    """The ticks of the last `most` events, without those before the window."""
    ticks = newest_events(stream, most).ticks
    return ticks[ticks > stream.now - WINDOW]


def counted(ticks: NDArray[np.int64], config: SketchConfig, site: str = "here") -> EcmSketch:
    """A sketch that counts all ticks as one item."""
    sketch = EcmSketch(config, site=site)
    sketch.update_many(np.full(len(ticks), ITEM, np.uint64), ticks)
    return sketch


def relative_errors(sketch: EcmSketch, ticks: NDArray[np.int64], ranges: int) -> NDArray[np.float64]:
    """The errors of a sketch of `ticks` over many ranges, from one arrival to all, evenly spaced on a log scale."""
    counts = np.unique(np.geomspace(1, len(ticks), ranges).astype(np.int64))
    now = int(ticks[-1])
    spans = np.unique(np.minimum(now - ticks[len(ticks) - counts] + 1, WINDOW))
    exact = len(ticks) - np.searchsorted(ticks, now - spans, side="right")
    answers = np.array([sketch.estimate(ITEM, last=int(span)).value for span in spans])
    errors: NDArray[np.float64] = np.abs(answers - exact) / exact
    return errors
