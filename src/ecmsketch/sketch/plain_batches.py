"""Small batches of plain integers: what is to be checked before they are gathered as they are, in one short loop."""

from __future__ import annotations

from typing import Any

from numba import int64, uint64

from ecmsketch.config import PrefixConfig, SketchConfig
from ecmsketch.inputs.columns import INT64, UINT64
from ecmsketch.inputs.ticks import MAX_TICK
from ecmsketch.kernels import kernel


def plain_bits(config: SketchConfig) -> dict[Any, int]:
    """How many bits the keys of arrays of each type may have, so that nothing is to be done but to copy them.

    A negative number becomes a key of 64 bits. It needs a name where names are kept, and is wrong where numbers are
    ordered.
    """
    if config.model == "count":
        return {}
    bits = config.bits if isinstance(config, PrefixConfig) else 64
    signed = min(bits, 63) if isinstance(config, PrefixConfig) or config.heavy_hitters else bits
    return {INT64: signed, UINT64: bits}


@kernel
def all_fit(items: Any, ticks: Any, begin: Any, end: Any, clock: Any, bits: Any) -> Any:
    """Whether the ticks begin .. end - 1 are in order, none before the clock, and no item has more bits."""
    wrong = int64(ticks[begin] < clock) + int64(ticks[end - 1] > int64(MAX_TICK))
    for i in range(begin + 1, end):
        wrong += int64(ticks[i] < ticks[i - 1])
    if bits < int64(64):
        for i in range(begin, end):
            wrong += int64(items[i] >> uint64(bits) > uint64(0))
    return wrong == int64(0)
