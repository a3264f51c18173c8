"""One sketch for all sites of a store, from merged sketches that are kept beside it (kept_groups.py).

Sites are merged in groups of neighbours, and the groups with one another: a level of error more than merging all at
once, if there are several groups. Only groups whose live rows have changed since they were kept are merged anew, from
the sketches of their sites. A kept sketch is never merged with newer ones of the same sites, which would count twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import blake2b

from deltalake import DeltaTable

from ecmsketch.errors import EcmError, EmptyStoreError, StoreError
from ecmsketch.sketch.loading import AnySketch, load
from ecmsketch.sketch.merging import merge
from ecmsketch.store import neighbour_groups
from ecmsketch.store.group_merging import from_bytes, merge_group
from ecmsketch.store.kept_groups import Kept, KeptGroup, KeptGroups
from ecmsketch.store.neighbour_groups import SiteGroup, group_neighbours
from ecmsketch.store.row_reader import RowReader
from ecmsketch.store.store_config import PROPERTY, StoreConfig

Say = Callable[[str], object]


class Everywhere:
    """Answers for one version of a store: finds what is kept, merges the rest, and keeps that."""

    def __init__(self, table: DeltaTable, kept: KeptGroups, say: Say) -> None:
        self._table, self._folder, self._say = table, kept, say
        about = table.metadata()
        self._store, self._version = str(about.id), int(table.version())
        noted = about.configuration.get(PROPERTY)
        self._config = None if noted is None else StoreConfig.parse(noted, str(table.table_uri))

    def sketch(self, keep: bool) -> AnySketch:
        """The sketch of all sites."""
        newest = self._read(everywhere_only=True)
        if newest is not None and newest.version == self._version:
            with suppress(EcmError):  # damaged: it is made again
                return self._load(newest.everywhere)
        known = None if newest is None else self._read(everywhere_only=False)
        rows = RowReader(self._table)
        if not len(rows.live):
            raise EmptyStoreError(f"{self._table.table_uri}: this store holds no sketches; append some first")
        quick = from_bytes(self._config)
        begins = [] if known is None else [group.first_site for group in known.groups]
        groups = group_neighbours(rows.live, begins, quick)
        try:
            return self._merged(rows, groups, known, keep)
        except EcmError as error:
            if known is None:
                raise
            self._say(f"what was kept of all sites cannot be used ({error}): all sites are merged")
            return self._merged(rows, group_neighbours(rows.live, (), quick), None, keep)

    def _read(self, everywhere_only: bool) -> Kept | None:
        """What is kept for this store; None if there is nothing, or nothing that can be read."""
        try:
            kept = self._folder.read(everywhere_only)
        except StoreError as error:
            if "got no Delta table" not in str(error):
                self._say(f"what was kept of all sites cannot be read ({error})")
            return None
        return kept if kept.store == self._store else None

    def _load(self, group: KeptGroup) -> AnySketch:
        sketch = load(group.sketch, max_nbytes=None)
        if self._config is not None and self._config.differences(StoreConfig.of(sketch)):
            raise StoreError(f"expected sketches of the store's config, got {sketch.config}")
        return sketch

    def _merged(self, rows: RowReader, groups: list[SiteGroup], known: Kept | None, keep: bool) -> AnySketch:
        mark = blake2b(b"".join(group.mark for group in groups), digest_size=16).digest()
        if known is not None and known.everywhere.mark == mark:  # the version is another, the rows are the same
            everywhere = self._load(known.everywhere)
            self._keep(known.groups, known.everywhere, keep)
            return everywhere
        kept = {} if known is None else {group.mark: group for group in known.groups}
        sketches = [
            self._load(kept[group.mark]) if group.mark in kept else merge_group(rows, group, self._config)
            for group in groups
        ]
        everywhere = merge(sketches) if len(sketches) > 1 else sketches[0]
        sites, old = sum(group.sites for group in groups), sum(group.sites for group in groups if group.mark in kept)
        if sites - old >= neighbour_groups.SITES:
            self._say(f"merged {sites - old:,} of {sites:,} sites; the others were kept merged")
        made = (
            kept.get(group.mark) or KeptGroup(group.first_site, group.sites, group.mark, sketch.serialize())
            for group, sketch in zip(groups, sketches, strict=True)
        )
        self._keep(made, KeptGroup("", sites, mark, everywhere.serialize()), keep)
        return everywhere

    def _keep(self, groups: Iterable[KeptGroup], everywhere: KeptGroup, keep: bool) -> None:
        """Keep all for the next reader, unless it is little. Who may not write reads all the same."""
        if not keep or everywhere.sites < neighbour_groups.SITES:
            return
        try:
            self._folder.write(Kept(self._store, self._version, everywhere, list(groups)))
        except StoreError as error:
            self._say(f"what was merged cannot be kept ({error})")
