"""What the API answers: every number with its bounds, the range it is about, and the version it comes from."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field

from ecmsketch.estimate import Estimate
from ecmsketch.inputs.item_text import json_item, show_item
from ecmsketch.inputs.moments import moment
from ecmsketch.serve.store_view import StoreView

Tick = Annotated[int, Field(examples=[1_700_000_000])]
Time = Annotated[
    str | None, Field(description="The tick as ISO 8601, if ticks are times.", examples=["2023-11-14T22:13:20Z"])
]
ItemValue = Annotated[
    Any, Field(description="A number, a text, a list if rows are counted, or {hex} if it is no text.", examples=["/a"])
]


class AsOf(BaseModel):
    """Which state of the store an answer comes from."""

    version: int = Field(description="The version of the store.", examples=[7])
    now: Tick | None = Field(description="The newest tick of all sites; the number of arrivals if those are counted.")
    now_time: Time = None
    read_at: datetime = Field(description="When this version was read.")
    written: datetime = Field(description="When its newest row was written.")
    stale: bool = Field(description="Whether the store cannot be read any more. `problem` says why.")
    problem: str | None = None

    @classmethod
    def of(cls, view: StoreView, now: int | None) -> AsOf:
        """The state that a view shows."""
        return cls(
            version=view.version, now=now, now_time=moment(now, view.unit), read_at=view.read_at,
            written=view.written, stale=view.stale, problem=view.problem,
        )  # fmt: skip


class Range(BaseModel):
    """The ticks after `since`, up to and with `until`."""

    since: Tick
    until: Tick
    since_time: Time = None
    until_time: Time = None

    @classmethod
    def of(cls, since: int, until: int, unit: str | None) -> Range:
        """A range of ticks."""
        return cls(since=since, until=until, since_time=moment(since, unit), until_time=moment(until, unit))


class Bounded(BaseModel):
    """A number that lies between `lower` and `upper` with probability `confidence` or more."""

    value: float = Field(examples=[1204.0])
    lower: float = Field(examples=[1198.0])
    upper: float = Field(examples=[1211.0])
    confidence: float = Field(examples=[0.99])


def bounded(estimate: Estimate) -> dict[str, Any]:
    """An estimate as the fields of `Bounded`."""
    return {name: float(value) for name, value in estimate._asdict().items()}


class About(BaseModel):
    """What an answer is about."""

    sites: int = Field(description="How many sites the answer is about.", examples=[33])
    range: Range
    as_of: AsOf


class Total(About, Bounded):
    """A number about all items."""


class Counted(Bounded):
    """An item and how often it came."""

    item: ItemValue
    text: str = Field(description="The item as it can be asked for again.", examples=["/a"])


def named(item: Any, view: StoreView) -> dict[str, Any]:
    """An item as the fields `item` and `text`."""
    return {"item": json_item(item), "text": show_item(item, view.items)}


class Counts(About):
    """How often items came."""

    items: list[Counted]
    total: Bounded = Field(description="All arrivals in the range.")


class Changed(Bounded):
    """An item, how much more often it came in the newer range than in the older one, and both counts."""

    item: ItemValue
    text: str
    newer: Bounded
    older: Bounded


class Changes(About):
    """The items whose counts changed most."""

    before: Range = Field(description="The older range. `range` is the newer one.")
    items: list[Changed]
    missed_rise: float = Field(description="An item that is not named rose by this much at most.")
    missed_fall: float = Field(description="An item that is not named fell by this much at most.")


class Step(Bounded):
    """The ticks after `since`, up to and with `until`, and how often the item came in them."""

    since: Tick
    until: Tick
    until_time: Time = None


class History(About):
    """How often an item came in each step of a range."""

    item: ItemValue
    text: str
    step: int = Field(description="Ticks of a step.", examples=[60])
    steps: list[Step]


class Quantile(Bounded):
    """The number that a share of the arrivals does not exceed."""

    share: float = Field(examples=[0.99])


class Quantiles(About):
    """Quantiles of numbers."""

    quantiles: list[Quantile]


class Sites(BaseModel):
    """The sites of a store, and what its sketches promise."""

    sites: list[str] = Field(examples=[["berlin", "paris"]])
    kind: str = Field(examples=["EcmSketch"])
    items: list[str] = Field(description="The kinds of items: i is an integer, t a text, ti a row of both.")
    epsilon: float = Field(description="The error of a count, as a share of all arrivals in the range.")
    delta: float
    window: int = Field(description="How many ticks back can be asked.", examples=[86_400])
    unit: str | None = Field(examples=["s"])
    model: str = Field(examples=["time"])
    names: bool = Field(description="Whether top, heavy_hitters and heavy_changes can be asked.")
    as_of: AsOf


class Part(BaseModel):
    """What one site contributes to the value of an alert."""

    site: str
    value: float


class Alarm(BaseModel):
    """What a monitor noticed: its value changed from one region to another."""

    monitor: str
    generation: int
    batch: int
    tick: Tick
    time: Time = None
    region: int = Field(description="The region that the value is in now. A threshold has 0 below and 1 above.")
    previous: int | None = Field(description="The region before; none if watching began here.")
    value: float
    epoch: int
    written: datetime
    item: str | None = Field(None, description="The item that it is about, as text, if it is about one.")
    lower: float | None = Field(None, description="The item's count is at least this.")
    upper: float | None = Field(None, description="The item's count is at most this.")
    share: float | None = Field(None, description="The item's share of all arrivals, if that is watched.")
    sites: list[Part] | None = Field(None, description="The sites that contribute most to it.")


class Alarms(BaseModel):
    """The newest alerts, oldest first."""

    alerts: list[Alarm]
    hidden: int = Field(description="Older alerts that the limit leaves out.")
    problem: str | None = Field(description="What is wrong with the table of alerts.")
    as_of: AsOf


class Reason(BaseModel):
    """Why some rows were rejected."""

    reason: str = Field(examples=["tick too far ahead"])
    rows: int


class Rejections(BaseModel):
    """Rows that the writers of the store did not count, and late ones."""

    rows: int = Field(description="Rows that were rejected.")
    reasons: list[Reason]
    late_counted: int = Field(description="Late rows that were counted at their own time.")
    late_dropped: int = Field(description="Late rows that were not counted.")
    problem: str | None = Field(description="Why these numbers cannot be read.")
    as_of: AsOf
