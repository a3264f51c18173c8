"""Randomized waves (Gibbons, Tirthapura), one per cell: samples that merge without loss.

Every arrival draws a level g with probability 2^-(g+1), and each level keeps the newest `samples` arrivals that drew
it. Arrivals of levels l and above are a sample of one in 2^l, complete back to some tick. A query takes the finest
sample that is complete over its range, and answers 2^l times its count; with l = 0 that is exact. If level l - 1 is
not complete, it holds `samples` arrivals of the range, so about as many are in the sample: its relative error is
normal, with a deviation of at most 1/sqrt(samples). The median of several instances answers.

The paper keeps an arrival in all levels up to g. Keeping it in level g only gives the same samples with half the
memory, and one write an arrival.

What is kept is decided by ticks and levels alone. So the union of two waves, cut to the newest `samples` of each
level, is the wave of the united stream, exactly.

Levels come from a counter-based generator: arrival number n of the stream with a given key always draws the same.
Streams must have different keys, or sites that see the same pattern would sample the same arrivals.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.config.memory import WAVE_LEVELS
from ecmsketch.counters.contract import Ints, Reading
from ecmsketch.counters.numbering import renumbered
from ecmsketch.counters.offsets import first_base, moved, next_base, offset_type
from ecmsketch.counters.waves.drawing import Draws, draw_levels, draw_weighted_levels, random_word
from ecmsketch.counters.waves.sample_bytes import decode_samples, encode_samples
from ecmsketch.counters.waves.sample_reading import read_samples
from ecmsketch.counters.waves.samples import Samples, count_draws, push_draws, repack, united
from ecmsketch.errors import MergeError

_CHUNK = 2**22
_WEIGHTED = 2**14
"""Weighted events drawn for at a time: each may be up to 64 draws."""


class RandomizedWaves:
    """An array of randomized waves; fulfils `Counters`."""

    lossless: ClassVar[bool] = True

    def __init__(self, config: SketchConfig, key: int) -> None:
        self.config = config
        self.key = key
        self.arrived = 0
        self.base = 0
        lists = config.cells * config.wave_instances * WAVE_LEVELS
        none: NDArray[Any] = np.empty(0, offset_type(config))
        self.state = Samples(none, np.zeros(lists + 1, np.int64), np.zeros(lists, np.int64))

    @classmethod
    def new(cls, config: SketchConfig, key: int) -> Self:
        """See `Counters.new`."""
        return cls(config, key)

    def add(self, cells: NDArray[np.uint32], ticks: Ints, weights: Ints | None, oldest: int, now: int) -> None:
        """See `Counters.add`. Every arrival, and every part of a weight, draws its own level."""
        if self.arrived == 0:  # streams of one name, such as the days of a site, begin differently
            self.key = int(random_word(np.uint64(self.key), oldest ^ (int(cells[0, 0]) << 40)))
        if weights is None:
            self._draw_and_add(cells, ticks, None, oldest, now)
        elif self.config.model == "count":
            self._add_spread(cells, ticks, weights, oldest, now)
        else:
            for begin in range(0, len(ticks), _WEIGHTED):
                some = slice(begin, begin + _WEIGHTED)
                self._draw_and_add(np.ascontiguousarray(cells[:, some]), ticks[some], weights[some], oldest, now)

    def _draw_and_add(
        self, cells: NDArray[np.uint32], ticks: Ints, weights: Ints | None, oldest: int, now: int
    ) -> None:
        for instance in range(self.config.wave_instances):
            key = np.uint64((self.key + instance) % 2**64)
            if weights is None:
                draws = draw_levels(key, self.arrived, len(ticks))
            else:
                draws = draw_weighted_levels(key, self.arrived, weights, self.config.samples)
            self.add_drawn(cells, ticks, draws, instance, oldest, now)
        self.arrived = renumbered(self.arrived + (len(ticks) if weights is None else int(weights.sum())))

    def _add_spread(self, cells: NDArray[np.uint32], ticks: Ints, weights: Ints, oldest: int, now: int) -> None:
        """Count-based weights: as many arrivals on as many ticks, of which only the last window's matter."""
        kept = np.clip(weights - (now - self.config.window - (ticks - weights)), 0, weights)
        past: Ints = np.cumsum(kept)
        for begin in range(0, int(past[-1]), _CHUNK):
            number = np.arange(begin, min(begin + _CHUNK, int(past[-1])), dtype=np.int64)
            event = np.searchsorted(past, number, side="right")
            tick = ticks[event] - (past[event] - 1 - number)
            for instance in range(self.config.wave_instances):
                key = np.uint64((self.key + instance) % 2**64)
                draws = draw_levels(key, int(tick[0]) - 1, len(tick))
                self.add_drawn(np.ascontiguousarray(cells[:, event]), tick, draws, instance, oldest, now)
        self.arrived = renumbered(self.arrived + int(weights.sum()))

    def add_drawn(
        self, cells: NDArray[np.uint32], ticks: Ints, draws: Draws, instance: int, oldest: int, now: int
    ) -> None:
        """Keep arrivals whose levels are drawn already."""
        if not self.state.filled.any():
            self.base = first_base(oldest, now, self.config.window)
        self._rebase(next_base(self.base, now, self.config))
        instances, keep = self.config.wave_instances, self.config.samples
        coming = count_draws(cells, draws, instance, instances, len(self.state.filled))
        room = np.minimum(self.state.filled + coming, keep + keep // 4 + 8)
        if bool((room > np.diff(self.state.offset)).any()):
            self.state = repack(self.state, room)
        push_draws(self.state, cells, ticks, draws, instance, instances, keep, self.base)

    def read(self, cells: NDArray[np.uint32], since: int, now: int, origin: int) -> Reading:
        """See `Counters.read`. O(levels log samples) per cell and instance; bounds hold but for delta_sw."""
        value, lower, upper = read_samples(
            self.state,
            cells,
            max(since - self.base, 0),
            self.config.wave_instances,
            self.config.samples,
            self.config.epsilon_sw,
        )
        return Reading(value, lower, upper)

    @classmethod
    def merge(cls, parts: list[Self], origins: list[int], now: int) -> Self:
        """See `Counters.merge`: per level the union, cut to the newest. No error is added."""
        config = parts[0].config
        result = cls.new(config, parts[0].key)
        if len({part.key for part in parts}) < len(parts):
            raise MergeError(
                "two of the sketches drew the same samples: they are copies, or share their name and first arrival; "
                "give sites and segments names of their own"
            )
        result.key = int(random_word(np.uint64(parts[0].key), len(parts)))
        result.arrived = renumbered(sum(part.arrived for part in parts))
        result.base = max(now - config.window - 1, min(part.base for part in parts))
        for part in parts:
            shift = part.base - result.base
            result.state = united(result.state, part.state, shift, config.samples)
        return result

    @classmethod
    def concat(cls, segments: list[Self], now: int) -> Self:
        """See `Counters.concat`: merging adds no error, and the last segment's draws go on."""
        return cls.merge([segment for segment in segments if segment.arrived], [], now)

    def encode(self, now: int) -> bytes:
        """See `Counters.encode`."""
        limit = now - self.config.window - self.base
        return encode_samples(
            self.state, self.key, self.arrived, self.config.wave_instances, self.config.samples, now - self.base, limit
        )

    @classmethod
    def decode(cls, data: NDArray[np.uint8], config: SketchConfig, now: int, most: int) -> Self:
        """See `Counters.decode`."""
        lines = config.cells * config.wave_instances
        key, arrived, offset, ticks = decode_samples(data, lines, config.samples, config.window)
        result = cls.new(config, key)
        result.arrived = arrived
        result.base = now - config.window - 1
        result.state = Samples(ticks.astype(offset_type(config)), offset, np.diff(offset))
        return result

    def shift(self, ticks: int) -> None:
        """See `Counters.shift`."""
        self.base += ticks

    def copy(self, config: SketchConfig | None = None) -> Self:
        """See `Counters.copy`."""
        other = type(self)(config or self.config, self.key)
        other.arrived, other.base = self.arrived, self.base
        other.state = Samples(*(array.copy() for array in self.state))
        return other

    @property
    def nbytes(self) -> int:
        """See `Counters.nbytes`."""
        return sum(array.nbytes for array in self.state)

    @property
    def bucket_count(self) -> int:
        """See `Counters.bucket_count`."""
        return int(np.minimum(self.state.filled, self.config.samples).sum())

    def _rebase(self, base: int) -> None:
        shift = base - self.base
        self.base = base
        if shift:
            self.state = self.state._replace(ticks=moved(self.state.ticks, shift))
