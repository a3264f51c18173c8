"""Sketches of all sites into one, up a tree: on Spark, or in this process with the same tree and the same bytes.

The paper's tree is binary and balanced: servers at the leaves, every inner node merges what its children send
(section 7.3). Network cost is the bytes of every sketch that a child sends to its parent. A tree whose root has all
sites as its children is our n-way merge.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ecmsketch.config import SketchConfig
from ecmsketch.counters import kind_of
from ecmsketch.experiments.sites import sketch_site
from ecmsketch.merging import merge
from ecmsketch.sketch import EcmSketch


class Aggregated(NamedTuple):
    """The root's sketch, and what came to the nodes of each level, lowest first."""

    sketch: EcmSketch
    bytes_by_level: list[int]

    @property
    def network_bytes(self) -> int:
        """Of the whole aggregation."""
        return sum(self.bytes_by_level)


class Aggregation(NamedTuple):
    """Both ways to merge the same sites' sketches."""

    tree: Aggregated
    n_way: Aggregated


def aggregate(files: list[Path], config: SketchConfig, spark: Any = None) -> Aggregation:
    """Sketch every site's file, and merge the sketches up the binary tree and in one step.

    Randomized waves lose nothing in either: one step sends what the leaves send, and its sketch answers as
    the tree's does.
    """
    if len(files) == 1:
        alone = Aggregated(sketch_site(files[0], config), [])
        return Aggregation(alone, alone)
    return _on_spark(spark, files, config) if spark is not None else _in_process(files, config)


def _on_spark(spark: Any, files: list[Path], config: SketchConfig) -> Aggregation:
    from ecmsketch.spark import build_sketches_from_files, merge_sketches

    sketches = build_sketches_from_files(
        spark, [str(path) for path in files], config, "item", "tick", "site"
    ).cache()  # fmt: skip

    def merged(fan_in: int) -> Aggregated:
        levels: list[int] = []
        root = merge_sketches(sketches, fan_in, report=lambda level: levels.append(level.bytes_moved))
        assert isinstance(root, EcmSketch)
        return Aggregated(root, levels)

    try:
        tree = merged(2)
        return Aggregation(tree, _of_leaves(tree) if kind_of(config).lossless else merged(len(files)))
    finally:
        sketches.unpersist()


def _in_process(files: list[Path], config: SketchConfig) -> Aggregation:
    tree = climb(files, config, 2)
    return Aggregation(tree, _of_leaves(tree) if kind_of(config).lossless else climb(files, config, len(files)))


def _of_leaves(tree: Aggregated) -> Aggregated:
    return Aggregated(tree.sketch, tree.bytes_by_level[:1])


def climb(files: list[Path], config: SketchConfig, fan_in: int) -> Aggregated:
    """The same tree in this process, depth first: few sketches are in memory at a time."""
    height, moved = 0, list[int]()
    while fan_in**height < len(files):
        height += 1
        moved.append(0)

    def node(level: int, number: int) -> EcmSketch:
        if level == 0:
            return sketch_site(files[number], config)
        first, width = number * fan_in, fan_in ** (level - 1)
        children = [node(level - 1, child) for child in range(first, first + fan_in) if child * width < len(files)]
        moved[level - 1] += sum(len(child.serialize()) for child in children)
        return merge(children) if len(children) > 1 else children[0]

    return Aggregated(node(height, 0), moved)
