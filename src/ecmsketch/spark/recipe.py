"""The recipe by which Spark's workers make sketches, checked before Spark starts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from ecmsketch.config import SketchConfig
from ecmsketch.config.prefix_config import PrefixConfig
from ecmsketch.errors import ConfigError, InputError
from ecmsketch.inputs.kinds import Hashed
from ecmsketch.inputs.ticks import MAX_TICK, TICKS_PER_DAY, Span, Tick, to_span, to_tick
from ecmsketch.sketch import EcmSketch
from ecmsketch.sketch.loading import AnySketch
from ecmsketch.sketch.prefix import PrefixSketch

AHEAD = timedelta(days=1)
"""How far ahead of the clocks a tick may be, unless the caller says otherwise."""


class Recipe(NamedTuple):
    """What sketches to make. With `bits`, PrefixSketches."""

    config: SketchConfig
    bits: int | None = None
    radix: int = 16
    until: int | None = None
    """Events after this tick are rejected as "tick in the future"."""
    kind: str | None = None
    """The kind of items that come as hashes (kinds.py); None if they come as themselves."""
    horizon: int | None = None
    """Events after this tick, `ahead` after the job's start, are rejected as "tick too far ahead"."""

    @property
    def any_order(self) -> bool:
        """Whether the sketches take events in any order: slices do."""
        return self.config.counter == "slices"

    def items(self, items: Any) -> Any:
        """Items as a sketch takes them: hashes say what they were."""
        return items if self.kind is None else Hashed(items, self.kind)

    def new(self, site: str) -> AnySketch:
        """An empty sketch; `site` tells apart the random draws of randomized waves."""
        if self.bits is None:
            return EcmSketch(self.config, site)
        return PrefixSketch(self.config, self.bits, self.radix, site)


def make_recipe(config: SketchConfig, bits: int | None, radix: int, until: Tick | None) -> Recipe:
    """Check what to build, and make a recipe of it."""
    if not isinstance(config, SketchConfig):
        raise ConfigError(f"config: expected a SketchConfig, got {type(config).__name__}")
    if config.model == "count":
        raise ConfigError(
            "model: on Spark events come from many tasks, and only model='time' says in which order; got 'count'"
        )
    if bits is not None:
        PrefixConfig.of(config, bits, radix)
    return Recipe(config, bits, radix, None if until is None else to_tick(until, config.unit))


def ahead_ticks(ahead: Span | None, unit: str | None) -> int | None:
    """`ahead` in ticks, at least one. None without a unit: plain integers have no wall clock."""
    if ahead is None or unit is None:
        return None
    try:
        ticks = TICKS_PER_DAY[unit] if ahead == AHEAD else to_span(ahead, unit)
    except InputError as error:
        raise ConfigError(f"ahead: {error}") from error
    if isinstance(ahead, bool) or not 1 <= ticks <= MAX_TICK:
        raise ConfigError(f"ahead: expected a length of time of one tick or more, or None for no limit, got {ahead!r}")
    return ticks


def with_horizon(recipe: Recipe, ahead: Span | None) -> Recipe:
    """The recipe of a job that starts now: ticks that are times may be `ahead` of it, and no more."""
    ticks = ahead_ticks(ahead, recipe.config.unit)
    if ticks is None:
        return recipe
    return recipe._replace(horizon=to_tick(datetime.now(UTC), recipe.config.unit) + ticks)
