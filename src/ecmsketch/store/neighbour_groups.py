"""Groups of neighbouring sites, whose sketches are merged and kept: which sites, and a mark of their live rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from ecmsketch.store.row_reader import site_ends

SITES = 256
"""Sites of a new group, if they are not small. One that has grown to twice as many is cut anew."""
SMALL, AS_ONE = 4096, 512
"""A site of up to so many bytes is small. So many small sites count as one, if they are merged from their bytes."""
SIZE = 2**26
"""Bytes of sketches of a new group, which are merged at once."""
_NUMBERS = ("generation", "version", "position", "first_tick", "last_tick", "bytes")
_NONE = -(2**63)
"""Stands for a null. No tick is as low."""


class SiteGroup(NamedTuple):
    """Neighbouring sites, and where their live rows begin and end."""

    first_site: str
    sites: int
    begin: int
    end: int
    mark: bytes


def group_neighbours(live: Any, known: Sequence[str] = (), from_bytes: bool = False) -> list[SiteGroup]:
    """Group the sites of live rows, which are sorted by site. Groups that are known, by their first sites, stay.

    So only those groups change in which a site has changed. `from_bytes`: small sites are merged from their bytes.
    """
    if not len(live):
        return []
    ends = site_ends(live)
    begins = np.r_[0, ends[:-1]]
    names = live["site"].take(begins).to_pylist()
    size = np.add.reduceat(live["bytes"].to_numpy(), begins)
    weight = np.where((size <= SMALL) & from_bytes, 1, AS_ONE)
    marks = _Marks(live)
    cuts = sorted(_cuts(names, np.cumsum(size), np.cumsum(weight), known))
    return [
        SiteGroup(names[a], b - a, int(begins[a]), int(ends[b - 1]), marks(int(begins[a]), int(ends[b - 1])))
        for a, b in zip(cuts, [*cuts[1:], len(names)], strict=True)
    ]


def _cuts(names: list[str], size: Any, weight: Any, known: Sequence[str]) -> Iterator[int]:
    """The places of the sites with which groups begin. `size` and `weight` are those of all sites up to each."""
    most = SITES * AS_ONE
    if len(known) > 2 * (int(weight[-1]) // most + int(size[-1]) // SIZE) + 2:  # most of their sites are gone
        known = ()
    old = np.unique(np.r_[0, np.searchsorted(np.array(names, object), np.array(known, object))]).astype(int)
    for begin, end in zip(old, [*old[1:], len(names)], strict=True):
        while begin < end:
            yield int(begin)
            held, weighed = (int(size[begin - 1]), int(weight[begin - 1])) if begin else (0, 0)
            if known and int(weight[end - 1]) - weighed <= 2 * most and int(size[end - 1]) - held <= 2 * SIZE:
                break
            fits = min(np.searchsorted(size, held + SIZE, "right"), np.searchsorted(weight, weighed + most, "right"))
            begin = max(begin + 1, int(fits))


class _Marks:
    """Marks of live rows: the same only for the same rows, however they are laid out in files."""

    def __init__(self, live: Any) -> None:
        self._numbers = np.column_stack([pc.fill_null(live[name], _NONE).to_numpy() for name in _NUMBERS])
        self._texts = [live[name].to_pylist() for name in ("site", "writer", "part")]
        self._fingerprints = live["fingerprints"].to_pylist()

    def __call__(self, begin: int, end: int) -> bytes:
        mark = blake2b(np.ascontiguousarray(self._numbers[begin:end]).tobytes(), digest_size=16)
        mark.update(json.dumps([column[begin:end] for column in self._texts]).encode())
        mark.update(b"".join(blake2b(each or b"", digest_size=16).digest() for each in self._fingerprints[begin:end]))
        return mark.digest()
