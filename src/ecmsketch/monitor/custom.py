"""Any function of a vector, by numeric optimisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ecmsketch.errors import ConfigError
from ecmsketch.monitor.functions import Function, Sketches, Total, Vector


@dataclass(frozen=True)
class Custom(Function):
    """A function of your own, of the vector that another function uses: Custom(f, of=Frequency("x")).

    CAUTION: its extremes over a ball are looked for, not proven: scipy climbs from `starts` points, and an extreme
    that no climb finds is a crossing that can be missed. Smooth functions of few numbers are safe in practice; for
    others write a `Function` with exact `extrema`. Needs scipy: pip install 'ecmsketch[monitor]'.

    of       the function whose vector `f` takes, as an array of that shape
    starts   points in the ball that a climb begins at: the centre, and random ones
    seed     of the random ones
    """

    f: Callable[[Vector], float]
    of: Function = Total()  # noqa: RUF009
    starts: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        if not callable(self.f):
            raise ConfigError(f"Custom: expected a function of a vector, got {self.f!r}")
        if self.starts < 1:
            raise ConfigError(f"starts: expected 1 or more, got {self.starts!r}")

    @property
    def streams(self) -> tuple[str, ...]:
        return self.of.streams

    def extract(self, sketches: Sketches, since: int) -> Vector:
        return self.of.extract(sketches, since)

    def value(self, vector: Vector) -> float:
        return float(self.f(vector))

    def extrema(self, center: Vector, radius: float) -> tuple[float, float]:
        if radius == 0:
            return self.value(center), self.value(center)
        return self._lowest(center, radius, 1.0), -self._lowest(center, radius, -1.0)

    def _lowest(self, center: Vector, radius: float, sign: float) -> float:
        """The lowest value found of sign times the function. A climb may leave the ball: points are projected."""
        minimize = _minimize()

        def at(step: Vector) -> Vector:
            length = float(np.sqrt((step**2).sum()))
            return center + (radius / max(length, 1.0) * step).reshape(center.shape)

        def objective(step: Vector) -> float:
            return sign * self.value(at(step))

        rng = np.random.default_rng(self.seed)
        begins = [np.zeros(center.size)]
        for _ in range(self.starts - 1):
            step = rng.standard_normal(center.size)
            begins.append(step / np.sqrt((step**2).sum()) * rng.random() ** (1 / center.size))
        found = [objective(begin) for begin in begins]
        found += [float(minimize(objective, begin, method="L-BFGS-B").fun) for begin in begins]
        return min(found)


def _minimize() -> Any:
    try:
        from scipy.optimize import minimize  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise ConfigError("Custom: it needs scipy; pip install 'ecmsketch[monitor]'") from error
    return minimize
