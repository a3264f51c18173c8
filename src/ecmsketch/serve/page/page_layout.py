"""The layout of the page: which part is where. What the parts show comes later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from nicegui import ui

from ecmsketch.serve.page.busiest import CHANGED, LISTED, QUANTILES
from ecmsketch.serve.page.page_parts import (
    AlarmList,
    Ask,
    Band,
    Facts,
    Multiples,
    Notice,
    RangeChoice,
    Ranking,
    SiteChoice,
    Status,
    Subject,
    Theme,
    Tiles,
)


@dataclass(frozen=True)
class Layout:
    """The parts of one page."""

    status: Status
    notice: Notice
    content: ui.element
    ranges: RangeChoice
    sites: SiteChoice
    ask: Ask
    tiles: Tiles
    busiest: Ranking
    quantiles: Ranking
    risen: Ranking
    fallen: Ranking
    compared: ui.label
    subject: Subject
    band: Band
    multiples: Multiples
    alarms: AlarmList
    facts: Facts
    changes_card: ui.element
    quantiles_card: ui.element


def build_layout() -> Layout:
    """Build the parts of a page that shows nothing yet."""
    with ui.element("header").classes("ecm-header"):
        ui.label("ecmsketch").classes("ecm-brand")
        status = Status()
        Theme()
    notice = Notice()
    with ui.element("main").classes("ecm-main") as content:
        with ui.element("div").classes("ecm-card ecm-controls"):
            ranges, sites, ask = RangeChoice(), SiteChoice(), Ask()
        tiles = Tiles()
        with ui.element("div").classes("ecm-grid"):
            with _card("Busiest items", "ecm-busiest"):
                busiest = Ranking()
            with _card("History", "ecm-history"):
                subject, band = Subject(), Band()
            with _card("Rose and fell", "ecm-changes") as changes_card:
                compared = ui.label().classes("ecm-note ecm-compared")
                with ui.element("div").classes("ecm-two"):
                    risen, fallen = Ranking(), Ranking()
            with _card("Quantiles", "ecm-quantiles") as quantiles_card:
                quantiles = Ranking()
            with _card("By site", "ecm-bysite"):
                multiples = Multiples()
            with _card("Alarms", "ecm-alarmed"):
                alarms = AlarmList()
            with _card("How sure?", "ecm-sure"):
                facts = Facts()
    ask.show(label="Ask about any item", hint="Ask about any item")
    _set_up(busiest, risen, fallen, quantiles)
    return Layout(
        status, notice, content, ranges, sites, ask, tiles, busiest, quantiles, risen, fallen, compared, subject, band,
        multiples, alarms, facts, changes_card, quantiles_card,
    )  # fmt: skip


def _set_up(busiest: Ranking, risen: Ranking, fallen: Ranking, quantiles: Ranking) -> None:
    """Give the lists their sizes, which they keep whatever they show."""
    busiest.show(rows=None, slots=LISTED, name="Busiest items")
    risen.show(rows=None, slots=CHANGED, name="Rose most", tone="up")
    fallen.show(rows=None, slots=CHANGED, name="Fell most", tone="down")
    quantiles.show(rows=None, slots=len(QUANTILES), name="Quantiles", still=True)


@contextmanager
def _card(title: str, name: str) -> Iterator[ui.element]:
    """A titled section."""
    with ui.element("section").classes(f"ecm-card {name}").props(f'aria-label="{title}"') as card:
        with ui.element("h2"):
            ui.label(title)
        yield card
