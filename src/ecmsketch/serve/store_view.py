"""StoreView: what a store holds in one version. It never changes, so all answers from one view fit together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from ecmsketch.config import SketchConfig
from ecmsketch.errors import QueryError
from ecmsketch.inputs.kinds import Kinds
from ecmsketch.serve.shared_work import SharedWork
from ecmsketch.serve.version_rows import VersionRows
from ecmsketch.sketch.loading import AnySketch
from ecmsketch.sketch.merging import merge
from ecmsketch.store import Rejected

Result = TypeVar("Result")

_PREPARED = 8
"""Sets of sites that are merged for a new version before anybody asks."""


@dataclass(frozen=True, eq=False)
class StoreView:
    """One version of a store."""

    version: int
    """The version of the Delta table."""
    read_at: datetime
    """When this version was read, by this machine's clock."""
    written: datetime
    """When its newest row was written, by the writer's clock."""
    sites: tuple[str, ...]
    """The names of all sites, in order. They are text from outside."""
    config: SketchConfig
    kind: str
    """EcmSketch or PrefixSketch."""
    items: Kinds
    """The kinds of the items: integers, texts or rows of several columns."""
    now: int | None
    """The newest tick of all sites, which all answers are about; None if nothing was counted, or with model="count"."""
    problem: str | None
    """Why nothing newer can be read; None if this is the newest version."""
    raised: tuple[dict[str, Any], ...]
    """What `alerts` returns."""
    rejected: Rejected
    """Rows that writers did not count, and late ones."""
    _rows: VersionRows
    _sites: SharedWork
    """The sketches of single sites, shared with other versions."""
    _results: SharedWork
    """What follows from this version only. It lives as long as somebody has the view."""

    @classmethod
    def of(cls, rows: VersionRows, read_at: datetime, sites: SharedWork) -> StoreView:
        """The view of a version that was read; `sites` holds the sketches of sites that several versions share."""
        timed = rows.config.model == "time"
        return cls(
            rows.version[1], read_at, rows.written, tuple(rows.rows), rows.config, rows.stored.kind, rows.stored.items,
            rows.now if timed else None, None, (), Rejected(), rows, sites, SharedWork(),
        )  # fmt: skip

    @property
    def unit(self) -> str | None:
        """The unit of ticks, such as "s"; None if ticks are not times."""
        return self.config.unit

    @property
    def stale(self) -> bool:
        """Whether the store cannot be read any more, so that this may not be its newest version."""
        return self.problem is not None

    def sketch(self, sites: Iterable[str] = ()) -> AnySketch:
        """The sketch of some sites merged, or of all if none are given, with its clock at `now`.

        It is made once for each version and set of sites, and shared by all readers: ask it, do not change it.
        """
        chosen = self.chosen(sites)
        return self.shared(("merged", chosen), lambda: self._merged(chosen), _nbytes)

    def shared(self, key: Hashable, make: Callable[[], Result], size: Callable[[Result], int]) -> Result:
        """Something that follows from this version, made once for all readers; `size` tells its bytes."""
        return self._results.get(key, make, size)

    def chosen(self, sites: Iterable[str] = ()) -> tuple[str, ...]:
        """The sites that are meant, in order; a QueryError if one of them is not in the store."""
        chosen = tuple(sorted(set(sites)))
        unknown = [site for site in chosen if site not in self._rows.rows]
        if unknown:
            raise QueryError(f"site: expected one that is in the store, got {unknown[0]!r}; see the list of sites")
        return chosen or self.sites

    def alerts(self) -> tuple[dict[str, Any], ...]:
        """What monitors noticed, oldest first; empty if no table of alerts was given."""
        return self.raised

    @property
    def news(self) -> tuple[str | None, tuple[dict[str, Any], ...], Rejected]:
        """What may change while the version stays the same."""
        return self.problem, self.raised, self.rejected

    def with_news(self, problem: str | None, raised: tuple[dict[str, Any], ...], rejected: Rejected) -> StoreView:
        """The same version, with what is known now about the store and its alerts."""
        return replace(self, problem=problem, raised=raised, rejected=rejected)

    def prepare(self, before: StoreView) -> None:
        """Merge what readers asked the view `before` for, and drop the sketches of sites that neither view has."""
        kept: list[Any] = before._results.known()
        asked = [key[1] for key in kept if _is_merged(key)]
        for sites in asked[-_PREPARED:]:
            everything = sites == before.sites
            if everything or set(sites) <= self._rows.rows.keys():
                self.sketch(() if everything else sites)
        wanted = {view._rows.keys(site) for view in (self, before) for site in view.sites}
        self._sites.forget(unless=lambda key: key in wanted)

    def _merged(self, sites: tuple[str, ...]) -> AnySketch:
        parts = [self._site(site) for site in sites]
        sketch = merge(parts) if len(parts) > 1 else parts[0].copy()
        if self.now is not None and sketch.now != self.now:
            sketch.advance(self.now)
        return sketch

    def _site(self, site: str) -> AnySketch:
        """A site's sketch with its own clock, shared by all versions in which nothing about the site changed."""
        rows = self._rows
        return self._sites.get(rows.keys(site), lambda: rows.sketch(site), _nbytes)


def _is_merged(key: Any) -> bool:
    """Whether a result is the merged sketch of several sites. One site's takes little to make."""
    return key[0] == "merged" and len(key[1]) > 1


def _nbytes(sketch: AnySketch) -> int:
    return sketch.nbytes
