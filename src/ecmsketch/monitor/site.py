"""Site: observes arrivals, tests locally whether they can matter, and speaks only then. Bytes in, bytes out."""

from __future__ import annotations

from typing import Any, Self, cast

from ecmsketch.errors import ConfigError, InputError
from ecmsketch.inputs.ticks import Tick, to_tick
from ecmsketch.monitor.functions import Vector
from ecmsketch.monitor.vector_site import VectorSite
from ecmsketch.monitor.watch import Watch
from ecmsketch.monitor.wire import Reader, put_blob, put_text
from ecmsketch.sketch import EcmSketch


class Site(VectorSite):
    """One of several sites whose streams are watched together: sketches of its streams, and the test of them.

    Its clock is the newest tick observed or told by `tick`; its vector is of the last ticks before that, so that what
    expires is noticed as what arrives is. Call `tick` when nothing arrives.
    """

    def __new__(cls, name: str, watch: Watch) -> Self:
        """A site of the kind that the function needs: for AnyItem and AnyShare, one that talks about single items."""
        if cls is Site and watch.function.per_item:
            from ecmsketch.monitor.item_site import ItemSite  # which is a Site

            return cast(Self, super().__new__(ItemSite))
        return super().__new__(cls)

    def __init__(self, name: str, watch: Watch) -> None:
        super().__init__(name, watch)
        if watch.sketch is None:
            raise ConfigError("watch: expected one with last= and sketch=, which a Site counts with; or use VectorSite")
        self._sketches = {stream: EcmSketch(watch.sketch, site=f"{name}/{stream}") for stream in watch.function.streams}

    @property
    def vector(self) -> Vector:
        """What it would report now."""
        assert self.watch.last is not None
        if self._vector is None:
            self._vector = self.watch.function.extract(self._sketches, (self.now or 0) - self.watch.last)
        return self._vector

    def sketch(self, stream: str = "") -> EcmSketch:
        """The sketch of one of its streams."""
        if stream not in self._sketches:
            names = ", ".join(repr(name) for name in self._sketches)
            raise InputError(f"stream: expected one of {names}, got {stream!r}")
        return self._sketches[stream]

    def observe(
        self, items: Any, ticks: Any, weights: Any = None, stream: str = "", *, check: bool = True
    ) -> list[bytes]:
        """Count arrivals (as `EcmSketch.update_many` does) and check; returns what to send to the coordinator.

        With check=False it only counts: call `tick` when everything of this moment is counted.
        """
        sketch = self.sketch(stream)
        sketch.update_many(items, ticks, weights)
        self._vector, newest = None, sketch.now
        if newest is None:
            return []
        if check:
            return self._check(newest)
        self._move(newest)
        return []

    def tick(self, now: Tick) -> list[bytes]:
        """Move the clock and check; returns what to send to the coordinator."""
        assert self.watch.sketch is not None
        return self._check(to_tick(now, self.watch.sketch.unit))

    def _move(self, tick: int) -> None:
        before = self.now
        super()._move(tick)
        if self.now != before:
            self._vector = None

    def _parts(self) -> list[bytes]:
        self._vector = None  # the sketches give it
        parts = super()._parts()
        for stream, sketch in self._sketches.items():
            parts += [put_text(stream), put_blob(sketch.serialize())]
        return parts

    def _restore(self, reader: Reader) -> None:
        super()._restore(reader)
        for stream in self._sketches:
            if reader.text() != stream:
                raise reader.wrong(f"its streams are not {', '.join(map(repr, self._sketches))}")
            sketch = EcmSketch.deserialize(reader.blob(), max_nbytes=None)
            if sketch.config != self.watch.sketch:
                raise reader.wrong("its sketches are of another config than the watch's")
            self._sketches[stream] = sketch
