"""AnyOrder: counts one stream into slices, whatever the order in which its batches come."""

from __future__ import annotations

from typing import Any, Generic

from ecmsketch.sketch.merging import SketchT


class AnyOrder(Generic[SketchT]):
    """A sketch of slices that is being built from batches in any order.

    Slices need no order: what lies behind the clock is counted where it belongs, and what has left the window is
    forgotten, as it would be later. So nothing is sorted, nothing waits, and no error is added. The sketch that comes
    out obeys its own config again. To it no event was late.
    """

    def __init__(self, empty: SketchT) -> None:
        self._config = empty.config
        self._sketch = empty.copy(late="side", lateness=None)

    def update_many(self, items: Any, ticks: Any, weights: Any = None) -> None:
        """Count a batch whole, or raise an error and count nothing."""
        self._sketch.update_many(items, ticks, weights)

    @property
    def nbytes(self) -> int:
        """Memory held by the sketch."""
        return self._sketch.nbytes

    def serialize(self) -> bytes:
        """The sketch of all that was counted, as bytes."""
        state = self._sketch._state()
        engine = state.engine.copy(self._config)
        engine.late_counted = engine.late_dropped = 0
        return self._sketch._of(state._replace(engine=engine)).serialize()
