"""A group of sites as Spark's state: small sites in buckets of bounded size, large sketches each on their own.

While all small sites of a group fit into one bucket, it is part of the group's own value: one call of Spark's state
reads it, and one writes it. A bucket that becomes too large is divided in two by one more bit of its sites' hashes. So
a trigger that touches one small site rewrites one bucket. A sketch that becomes large moves out of its bucket, and
moves
back when it is half as large: else one that goes up and down would be moved in every trigger.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from ecmsketch.spark.group_packing import Arrived
from ecmsketch.spark.site_buckets import NEVER, Bucket, SiteRecord
from ecmsketch.spark.site_groups import MOST_DEPTH, bucket_bits, hash_sites

BUCKET_BYTES = 2**18
"""A bucket of more bytes is divided."""
LARGE_BYTES = 2**14
"""A sketch of more bytes is kept on its own."""

_ROOT = "timer bigint, index array<struct<bucket: bigint, depth: bigint, due: bigint>>, sites binary"


class Leaf(NamedTuple):
    """A bucket: the sites whose hashes end in the `depth` lowest bits of its number."""

    bucket: int
    depth: int
    due: int
    """When the first of its sites is due."""


class GroupStates:
    """The states of all groups of a task. Spark decides which group's they are at the moment."""

    def __init__(self, handle: StatefulProcessorHandle, site_type: str) -> None:
        self.text = site_type == "string"
        self.root = handle.getValueState("group", _ROOT)
        self.buckets = handle.getMapState("buckets", "bucket bigint", "sites binary")
        self.large = handle.getMapState("large", f"site {site_type}", "sketch binary")

    def sketch(self, record: SiteRecord) -> bytes | None:
        """The sketch of a site, wherever it is kept."""
        return _only(self.large.getValue((record.site,))) if record.large else record.sketch

    def place(self, record: SiteRecord, sketch: bytes | None) -> None:
        """Keep a site's sketch: in its bucket if it is small, else on its own."""
        size = 0 if sketch is None else len(sketch)
        large = size > (LARGE_BYTES // 2 if record.large else LARGE_BYTES)
        if large:
            self.large.updateValue((record.site,), (sketch,))
        elif record.large:
            self.large.removeKey((record.site,))
        record.large, record.sketch = large, None if large else sketch


class Group:
    """One group in a trigger: its buckets are read when they are needed, and written once."""

    def __init__(self, states: GroupStates, timer: int | None, leaves: list[Leaf], sites: bytes | None) -> None:
        self._states, self.timer, self._sites = states, timer, sites
        self._leaves = {leaf.bucket: leaf for leaf in leaves}

    @classmethod
    def load(cls, states: GroupStates) -> Self:
        """The group whose turn it is."""
        kept = states.root.get()
        if kept is None:
            return cls(states, None, [Leaf(0, 0, NEVER)], None)
        timer, leaves, sites = kept
        return cls(states, timer, [Leaf(*leaf) for leaf in leaves], None if sites is None else bytes(sites))

    def save(self) -> None:
        """Write what the buckets are; their own bytes are written already if there are several."""
        leaves = [tuple(self._leaves[bucket]) for bucket in sorted(self._leaves)]
        self._states.root.update((self.timer, leaves, self._sites))

    @property
    def due(self) -> int:
        """When the first site is due."""
        return min(leaf.due for leaf in self._leaves.values())

    def touched(self, arrived: list[Arrived], moment: int) -> dict[int, list[Arrived]]:
        """The buckets for whose sites something came, with what came, and those with sites that are due."""
        found: dict[int, list[Arrived]] = {bucket: [] for bucket, leaf in self._leaves.items() if leaf.due <= moment}
        bits = bucket_bits(hash_sites([site for site, _, _ in arrived])) if arrived else np.empty(0, np.int64)
        for one, some in zip(arrived, bits.tolist(), strict=True):
            found.setdefault(self._bucket_of(some), []).append(one)
        return found

    def _bucket_of(self, bits: int) -> int:
        depth = 0
        while True:
            bucket = bits & ((1 << depth) - 1)
            leaf = self._leaves.get(bucket)
            if leaf is not None and leaf.depth == depth:
                return bucket
            depth += 1

    def read(self, bucket: int) -> Bucket:
        """One bucket."""
        if len(self._leaves) > 1:
            return Bucket.decode(_only(self._states.buckets.getValue((bucket,))), self._states.text)
        return Bucket.new(self._states.text) if self._sites is None else Bucket.decode(self._sites, self._states.text)

    def write(self, bucket: int, contents: Bucket) -> None:
        """Write a bucket, divided if it is too large."""
        parts = list(_divided(Leaf(bucket, self._leaves[bucket].depth, NEVER), contents))
        self._leaves |= {leaf.bucket: leaf for leaf, _ in parts}
        if len(self._leaves) == 1:
            self._sites = parts[0][1]
            return
        self._sites = None
        for leaf, data in parts:
            self._states.buckets.updateValue((leaf.bucket,), (data,))


def _only(value: tuple[Any, ...] | None) -> bytes:
    """The bytes of an entry that is surely there."""
    assert value is not None
    return bytes(value[0])


def _divided(leaf: Leaf, contents: Bucket) -> Iterable[tuple[Leaf, bytes]]:
    """A bucket's bytes, and those of the buckets that it is divided into until each is small enough."""
    data = contents.encode()
    if len(data) <= BUCKET_BYTES or leaf.depth == MOST_DEPTH or len(contents) == 1:
        yield leaf._replace(due=contents.due), data
        return
    for i, part in enumerate(contents.split(leaf.depth)):
        yield from _divided(Leaf(leaf.bucket + (i << leaf.depth), leaf.depth + 1, NEVER), part)
