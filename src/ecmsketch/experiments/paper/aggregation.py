"""Merge the sketches of all sites into one, up a tree: on Spark, or in this process with equal results.

The paper's tree is binary and balanced: servers are leaves, and every inner node merges what its children send
(section 7.3). The network cost is the bytes of every sketch that a child sends to its parent. A tree whose root has all
sites as its children is our n-way merge.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ecmsketch.config import SketchConfig
from ecmsketch.engines.cells.registry import counter_class
from ecmsketch.experiments.data.site_files import sketch_site
from ecmsketch.sketch import EcmSketch
from ecmsketch.sketch.merging import merge


class MergedSites(NamedTuple):
    """The sketch at the root, and the bytes that the nodes of each level received, lowest level first."""

    sketch: EcmSketch
    bytes_by_level: list[int]

    @property
    def network_bytes(self) -> int:
        """The bytes that were sent in the whole tree."""
        return sum(self.bytes_by_level)


class MergedBothWays(NamedTuple):
    """The same sketches, merged up a binary tree and in one step."""

    tree: MergedSites
    n_way: MergedSites


def aggregate(files: list[Path], config: SketchConfig, spark: Any = None) -> MergedBothWays:
    """Sketch the file of every site, then merge the sketches up the binary tree and in one step.

    Lossless counters (randomized waves) are merged once: both ways give the same answers, and one step sends only
    what the leaves send.
    """
    if len(files) == 1:
        alone = MergedSites(sketch_site(files[0], config), [])
        return MergedBothWays(alone, alone)
    return _on_spark(spark, files, config) if spark is not None else _in_process(files, config)


def _on_spark(spark: Any, files: list[Path], config: SketchConfig) -> MergedBothWays:
    from ecmsketch.spark import build_sketches_from_files, merge_sketches

    sketches = build_sketches_from_files(
        spark, [str(path) for path in files], config, "item", "tick", "site"
    ).cache()  # fmt: skip

    def merged(fan_in: int) -> MergedSites:
        levels: list[int] = []
        root = merge_sketches(sketches, fan_in, report=lambda level: levels.append(level.bytes_moved))
        assert isinstance(root, EcmSketch)
        return MergedSites(root, levels)

    try:
        return _both_ways(merged, len(files), config)
    finally:
        sketches.unpersist()


def _in_process(files: list[Path], config: SketchConfig) -> MergedBothWays:
    if _lossless(config):  # these are large, and merged once: one file at a time
        return _both_ways(lambda fan_in: merge_up_tree(files, config, fan_in), len(files), config)
    leaves = [sketch_site(path, config) for path in files]
    tree = _merge_leaves(leaves.__getitem__, len(leaves), 2)
    return MergedBothWays(tree, MergedSites(merge(leaves), tree.bytes_by_level[:1]))  # the leaves send the same bytes


def _lossless(config: SketchConfig) -> bool:
    return config.counter != "slices" and counter_class(config).lossless


def _both_ways(merged: Callable[[int], MergedSites], sites: int, config: SketchConfig) -> MergedBothWays:
    tree = merged(2)
    lossless = _lossless(config)
    return MergedBothWays(tree, MergedSites(tree.sketch, tree.bytes_by_level[:1]) if lossless else merged(sites))


def merge_up_tree(files: list[Path], config: SketchConfig, fan_in: int) -> MergedSites:
    """Merge in this process, depth first, so that only a few sketches are in memory at a time."""
    return _merge_leaves(lambda number: sketch_site(files[number], config), len(files), fan_in)


def _merge_leaves(leaf: Callable[[int], EcmSketch], leaves: int, fan_in: int) -> MergedSites:
    height, moved = 0, list[int]()
    while fan_in**height < leaves:
        height += 1
        moved.append(0)

    def node(level: int, number: int) -> EcmSketch:
        if level == 0:
            return leaf(number)
        first, width = number * fan_in, fan_in ** (level - 1)
        children = [node(level - 1, child) for child in range(first, first + fan_in) if child * width < leaves]
        moved[level - 1] += sum(len(child.serialize()) for child in children)
        return merge(children) if len(children) > 1 else children[0]

    return MergedSites(node(height, 0), moved)
