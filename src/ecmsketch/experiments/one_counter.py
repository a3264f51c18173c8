"""A stream as one counter sees it: every event counts as the same item, so that nothing collides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.experiments.stream import WINDOW, Stream
from ecmsketch.sketch import EcmSketch

ITEM = 1


def last_ticks(stream: Stream, most: int) -> NDArray[np.int64]:
    """The ticks of the stream's last events inside the window."""
    kept: list[NDArray[np.int64]] = []
    for batch in stream.batches():
        kept.append(batch.ticks[batch.ticks > stream.now - WINDOW])
        while len(kept) > 1 and sum(map(len, kept)) - len(kept[0]) >= most:
            kept.pop(0)
    return np.concatenate(kept)[-most:]


def counted(ticks: NDArray[np.int64], config: SketchConfig, site: str = "here") -> EcmSketch:
    """All of them as one item."""
    sketch = EcmSketch(config, site=site)
    sketch.update_many(np.full(len(ticks), ITEM, np.uint64), ticks)
    return sketch


def relative_errors(sketch: EcmSketch, ticks: NDArray[np.int64], ranges: int) -> NDArray[np.float64]:
    """Of one counter over many ranges, from few arrivals to all, evenly on a log scale; `ticks` were counted."""
    counts = np.unique(np.geomspace(1, len(ticks), ranges).astype(np.int64))
    now = int(ticks[-1])
    spans = np.unique(np.minimum(now - ticks[len(ticks) - counts] + 1, WINDOW))
    exact = len(ticks) - np.searchsorted(ticks, now - spans, side="right")
    answers = np.array([sketch.estimate(ITEM, last=int(span)).value for span in spans])
    errors: NDArray[np.float64] = np.abs(answers - exact) / exact
    return errors
