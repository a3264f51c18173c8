"""The parts of the page. Each is a small Vue component in parts/, which shows what it is given as text."""

from __future__ import annotations

from typing import Any

from nicegui import ui
from nicegui.elements.echart import EChart  # noqa: F401, makes the ECharts of NiceGUI known to the browser


class Part(ui.element):
    """An element whose props are what it shows. Nothing is sent if nothing changed."""

    def show(self, **values: Any) -> None:
        """Show other values. A list is given as a tuple: NiceGUI would copy a list and all in it for each page."""
        given = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        new = {name: value for name, value in given.items() if self.props.get(name, self) != value}
        if new:
            self.props.update(new)
            self.update()


class Ranking(Part, component="parts/ecm_ranking.js"):
    """A list of items with bars."""


class Tiles(Part, component="parts/ecm_tiles.js"):
    """Large numbers."""


class Status(Part, component="parts/ecm_status.js"):
    """How fresh the data is."""


class RangeChoice(Part, component="parts/ecm_range.js"):
    """Presets and a slider."""


class SiteChoice(Part, component="parts/ecm_sites.js"):
    """Sites to choose from, with a search."""


class Ask(Part, component="parts/ecm_ask.js"):
    """A box to ask about an item."""


class Subject(Part, component="parts/ecm_subject.js"):
    """What a history is about."""


class Band(Part, component="parts/ecm_band.js"):
    """A history with its band."""


class Multiples(Part, component="parts/ecm_multiples.js"):
    """Small histories, one for each site."""


class AlarmList(Part, component="parts/ecm_alarms.js"):
    """What monitors noticed."""


class Facts(Part, component="parts/ecm_facts.js"):
    """Terms with explanations."""


class Notice(Part, component="parts/ecm_notice.js"):
    """What is wrong."""


class Theme(Part, component="parts/ecm_theme.js"):
    """Light or dark."""
