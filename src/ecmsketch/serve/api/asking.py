"""What a request asks about: some sites and a range of ticks, read from its parameters."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, NamedTuple

from fastapi import Query

from ecmsketch.errors import QueryError
from ecmsketch.inputs.durations import parse_duration
from ecmsketch.inputs.item_text import parse_item
from ecmsketch.inputs.ticks import to_tick
from ecmsketch.serve.api.answers import AsOf, Range
from ecmsketch.serve.api.limits import MAX_ITEM_LENGTH, MAX_SITES
from ecmsketch.serve.live_store import LiveStore
from ecmsketch.serve.problems import ProblemError
from ecmsketch.serve.store_view import StoreView
from ecmsketch.sketch import EcmSketch, PrefixSketch
from ecmsketch.sketch.loading import AnySketch
from ecmsketch.sketch.ranges import ticks_asked

_NUMBER = re.compile(r"-?[0-9]{1,19}")
_NAME = Annotated[str, Query(max_length=MAX_ITEM_LENGTH)]

Site = Annotated[
    list[_NAME] | None,
    Query(max_length=MAX_SITES, description="A site to ask about; give it several times for several. Default: all."),
]
Last = Annotated[
    str | None,
    Query(
        max_length=40, description="This much time before now: 300 (ticks), 5m, 1h, 1d. Default: the window.",
        examples=["1h"],
    ),
]  # fmt: skip
Between = Annotated[
    str | None,
    Query(
        max_length=80, description="Instead of last: two ticks or ISO times with a comma between, from and to.",
        examples=["1700000000,1700003600"],
    ),
]  # fmt: skip
Confidence = Annotated[
    float | None,
    Query(ge=0, le=1, description="How sure the bounds shall be. Default: what the store was built for. 1: certain."),
]


class Asked(NamedTuple):
    """A sketch to ask, and the range of ticks (since, until]."""

    view: StoreView
    sketch: AnySketch
    sites: int
    since: int
    until: int

    @property
    def about(self) -> dict[str, Any]:
        """The fields of `About`."""
        return {
            "sites": self.sites,
            "range": Range.of(self.since, self.until, self.view.unit),
            "as_of": AsOf.of(self.view, self.sketch.now),
        }

    @property
    def ticks(self) -> dict[str, Any]:
        """The range as arguments of a question: one that ends now is a `last`, whose bounds are sharper."""
        if self.until == (self.sketch.now or 0):
            return {"last": self.until - self.since}
        return {"between": (self.since, self.until)}


def current_view(live: LiveStore) -> StoreView:
    """The newest version of the store that can be read; a problem if there is none."""
    view = live.view()
    if view is None:
        raise ProblemError(503, live.problem or "the store has not been read yet", {"Retry-After": "1"})
    return view


def ask(view: StoreView, sites: list[str] | None, last: str | None = None, between: str | None = None) -> Asked:
    """The sketch and the range that a request means."""
    unknown = next((site for site in sites or () if site not in view.sites), None)
    if unknown is not None:
        raise ProblemError(404, f"site: there is no site {unknown[:200]!r} in the store; /api/v1/sites lists them")
    sketch = view.sketch(sites or ())
    length = None if last is None else duration("last", last, view)
    ends = None if between is None else _interval(between, view)
    since, until = ticks_asked(view.config, sketch.now or 0, length, ends)
    return Asked(view, sketch, len(view.chosen(sites or ())), since, until)


def duration(name: str, text: str, view: StoreView) -> int:
    """A length of time in ticks; errors name the parameter."""
    try:
        return parse_duration(text, view.unit)
    except QueryError as error:
        raise QueryError(f"{name}: {error}") from error


def items_meant(texts: list[str], view: StoreView) -> list[Any]:
    """The items that some texts mean. Where numbers and texts are counted, 7 means both 7 and "7"."""
    return [item for text in texts for item in parse_item(text, view.items)]


def named_items(sketch: AnySketch, question: str) -> EcmSketch:
    """A sketch that can answer a question about items without an order."""
    if isinstance(sketch, PrefixSketch):
        raise QueryError(
            f"{question}: this store holds PrefixSketches, which cannot answer it; ask for estimate, heavy_hitters, "
            "history or quantile"
        )
    return sketch


def ordered_items(sketch: AnySketch) -> PrefixSketch:
    """A sketch that knows the order of its items."""
    if not isinstance(sketch, PrefixSketch):
        raise QueryError(
            "quantile: this store holds EcmSketches, which know no order of items; build a store with --bits for it"
        )
    return sketch


def sure(sketch: AnySketch, confidence: float | None) -> dict[str, Any]:
    """The argument `confidence` of a question, if it was given."""
    if confidence is None:
        return {}
    if isinstance(sketch, PrefixSketch):
        raise QueryError("confidence: a PrefixSketch answers with that of its config only; leave it out")
    return {"confidence": confidence}


def _interval(text: str, view: StoreView) -> tuple[int, int]:
    ends = text.split(",")
    if len(ends) != 2:
        raise QueryError(f"between: expected two ticks with a comma between, such as 100,200, got {text!r}")
    since, until = (_tick(end.strip(), view) for end in ends)
    return since, until


def _tick(text: str, view: StoreView) -> int:
    if _NUMBER.fullmatch(text):
        return int(text)
    try:
        return to_tick(datetime.fromisoformat(text), view.unit)
    except (ValueError, OverflowError) as error:  # an InputError is a ValueError
        times = "a number" if view.unit is None else "a number or a time such as 2026-06-01T12:00:00Z"
        raise QueryError(f"between: expected {times}, got {text!r}") from error
