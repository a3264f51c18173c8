"""One sketch for the sites of a group, from their live rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ecmsketch.config import SketchConfig
from ecmsketch.sketch.ecm import EcmSketch
from ecmsketch.sketch.loading import AnySketch, merge_column
from ecmsketch.sketch.merging import merge
from ecmsketch.sketch.small_sketches import SketchColumn, can_append
from ecmsketch.store.neighbour_groups import SiteGroup
from ecmsketch.store.row_reader import RowReader, latest_sketches, rows_of_sites, site_ends
from ecmsketch.store.store_config import StoreConfig


def from_bytes(config: StoreConfig | None) -> bool:
    """Whether small sketches of a store are merged from their bytes."""
    return config is not None and can_append(config.config)


def merge_group(rows: RowReader, group: SiteGroup, config: StoreConfig | None) -> AnySketch:
    """One sketch for the sites of a group, from their live rows."""
    live = rows.live.slice(group.begin, group.end - group.begin)
    if config is not None and from_bytes(config):
        return _merge_bytes(rows, live, config.config)
    sketches = list(latest_sketches(rows, rows_of_sites(live)).values())
    return merge(sketches) if len(sketches) > 1 else sketches[0]


def _merge_bytes(rows: RowReader, live: Any, config: SketchConfig) -> AnySketch:
    """The same where most sketches are small: those are merged from their bytes, without an object for each."""
    small = SketchColumn(config, *_buffers(rows.whole(live)["sketch"]))
    ends = site_ends(live)
    begins = np.r_[0, ends[:-1]]
    alike = np.repeat(np.logical_and.reduceat(small.simple, begins), ends - begins)  # all rows of a site are simple
    others = list(latest_sketches(rows, rows_of_sites(live.filter(~alike))).values())
    if not alike.any():
        return merge(others) if len(others) > 1 else others[0]
    return merge_column(small, alike, [sketch for sketch in others if isinstance(sketch, EcmSketch)])


def _buffers(column: Any) -> tuple[Any, Any, Any]:
    """The bytes of a column of sketches, and where each begins and ends."""
    joined = column.combine_chunks().cast(pa.large_binary())
    whole = pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined
    _, offsets, data = whole.buffers()
    places = np.frombuffer(offsets, np.int64)[whole.offset : whole.offset + len(whole) + 1]
    return np.frombuffer(data, np.uint8), places[:-1], places[1:]
