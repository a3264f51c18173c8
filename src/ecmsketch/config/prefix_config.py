"""PrefixConfig: a SketchConfig for numbers of `bits` bits, looked at by their prefixes.

Level 1 looks at an item's first digit (of log2(radix) bits), level 2 at its first two, the last level at all of it.
A level with no more prefixes than a row has cells gives each its own cell; the others are Count-Min tables.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple

from ecmsketch.config.sketch_config import MAX_CELLS, SketchConfig
from ecmsketch.errors import ConfigError
from ecmsketch.inputs.columns import is_integer
from ecmsketch.kernels.hashing import GOLDEN, RowHashes, direct_row, row_hashes, stack_rows

RADIXES = (2, 4, 8, 16, 32, 64, 128, 256)


class Level(NamedTuple):
    """One level. Its prefixes are items without their `drop` low bits; its rows and cells begin at the given ones."""

    bits: int
    drop: int
    exact: bool
    first_row: int
    rows: int
    first_cell: int
    cells: int


@dataclass(frozen=True, kw_only=True)
class PrefixConfig(SketchConfig):
    """A SketchConfig with a domain: items are numbers from 0 to 2^bits - 1."""

    bits: int = 32
    radix: int = 16

    def __post_init__(self) -> None:
        if not is_integer(self.bits) or not 1 <= self.bits <= 64:
            raise ConfigError(f"bits: expected an integer from 1 to 64, got {self.bits!r}")
        if isinstance(self.radix, bool) or self.radix not in RADIXES:
            raise ConfigError(f"radix: expected a power of two from 2 to 256, got {self.radix!r}")
        self._set("bits", int(self.bits))
        self._set("radix", int(self.radix))
        super().__post_init__()
        if self.heavy_hitters:
            raise ConfigError("heavy_hitters: a PrefixSketch finds them by itself; leave heavy_hitters out")
        if self.cells > MAX_CELLS:
            raise ConfigError(
                f"epsilon: {self.epsilon:g} needs {self.cells:,} counters over {len(self.levels)} levels, "
                f"at most {MAX_CELLS:,} are allowed; choose a larger epsilon or radix"
            )

    @classmethod
    def of(cls, config: SketchConfig, bits: int, radix: int) -> PrefixConfig:
        """A PrefixConfig with the settings of a config, and a domain."""
        settings = {field.name: getattr(config, field.name) for field in fields(SketchConfig)}
        return cls(**settings, bits=bits, radix=radix)

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """All levels, from the first digit to the whole item."""
        digit = self.radix.bit_length() - 1
        levels: list[Level] = []
        row = cell = 0
        for drop in range((self.bits - 1) // digit * digit, -1, -digit):
            bits = self.bits - drop
            exact = 1 << bits <= self.width
            rows, cells = (1, 1 << bits) if exact else (self.depth, self.width * self.depth)
            levels.append(Level(bits, drop, exact, row, rows, cell, cells))
            row, cell = row + rows, cell + cells
        return tuple(levels)

    @property
    def cells(self) -> int:
        """Counters in all levels."""
        return sum(level.cells for level in self.levels)

    @cached_property
    def rows(self) -> RowHashes:
        """Rows of all levels, one after the other; each level hashes with a seed of its own."""
        return stack_rows(
            [
                (
                    direct_row(level.bits) if level.exact
                    else row_hashes((self.seed + level.bits * GOLDEN) % 2**64, self.depth, self.width),
                    level.drop,
                )
                for level in self.levels
            ]
        )  # fmt: skip

    @cached_property
    def _rows_by_level(self) -> list[RowHashes]:
        return [self.rows.some(level.first_row, level.first_row + level.rows) for level in self.levels]

    def rows_of(self, block: int) -> RowHashes:
        """The rows of a level of prefixes."""
        return self._rows_by_level[block]
