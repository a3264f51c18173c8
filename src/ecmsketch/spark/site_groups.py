"""Which group a site belongs to, and which bucket inside its group: both follow from the site's name alone.

The number of groups is a constant. Spark keeps the number of shuffle partitions of a checkpoint, but tells workers the
session's setting, which may have changed since. A number derived from it would misplace every site after a restart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.inputs.items import hash_items
from ecmsketch.kernels.hashing import mix

GROUPS = 256
"""Groups of sites. A changed group costs some calls of Spark's state; more tasks than groups have nothing to do."""
_GROUP_BITS = np.uint64(8)
MOST_DEPTH = 24
"""Bits of a name's hash that buckets are divided by, at most."""

Hashes = NDArray[np.uint64]


def hash_sites(sites: list[Any]) -> Hashes:
    """64 bits for each site: a text or an integer. None has zeros, whatever the others are."""
    hashes = np.zeros(len(sites), np.uint64)
    known = [i for i, site in enumerate(sites) if site is not None]
    if known:
        hashes[known] = mix(hash_items([sites[i] for i in known]))
    return hashes


def group_of(hashes: Hashes) -> NDArray[np.int64]:
    """The group of each site."""
    return (hashes % np.uint64(GROUPS)).astype(np.int64)


def bucket_bits(hashes: Hashes) -> NDArray[np.int64]:
    """The bits that decide about a site's bucket, lowest first."""
    return ((hashes >> _GROUP_BITS) & np.uint64(2**MOST_DEPTH - 1)).astype(np.int64)
