"""What a site may report: sizes, shapes and clocks that fit what is watched. Anything else is a FormatError."""

from __future__ import annotations

import numpy as np

from ecmsketch.engines.names.frequent import summary_params
from ecmsketch.errors import FormatError
from ecmsketch.monitor import Coordinator, Site, Watch
from ecmsketch.monitor.change_messages import Change
from ecmsketch.monitor.functions import Vector
from ecmsketch.monitor.item_messages import ItemReport
from ecmsketch.monitor.messages import Report, decode
from ecmsketch.net.control import MAX_CONTROL
from ecmsketch.net.wall_clock import ticks_of, unit_of

MOST_AHEAD = 600
"""Seconds by which a site's clock may be ahead of the coordinator's: the newest clock is that of all."""
_NUMBER_BYTES = 11
_ENTRY_BYTES = 320
"""Bytes of an item with its name and counts."""
_SUMMARIES = 512
"""Summaries of names that a sketch has at most, each a fifth larger than the one after it."""
_MOST = 2**28
_LARGEST_NUMBER = 2**48
"""Epochs and numbers of reports: a hundred thousand a second for 80 years are fewer."""
_LARGEST_COUNT = 2.0**53


class ReportCheck:
    """Knows what reports fit a watch."""

    def __init__(self, watch: Watch) -> None:
        assert watch.sketch is not None
        self._ahead = ticks_of(MOST_AHEAD, unit_of(watch))
        self._of_items = watch.function.per_item
        if self._of_items:
            params = summary_params(watch.sketch)
            body = _ENTRY_BYTES * (params.kept + params.taken + _SUMMARIES * params.size)
        else:
            self._shape = Site("x", watch).vector.shape
            body = _NUMBER_BYTES * int(np.prod(self._shape))
        self.largest = min(MAX_CONTROL + body, _MOST)
        """Bytes of the largest frame that a site may send."""

    def check(self, frame: bytes, name: str, clock: int, coordinator: Coordinator) -> None:
        """Raise a FormatError unless a frame is a report of this very site that fits, at a clock.

        Reports may be differences to what the coordinator knows. One that it cannot add to anything harms nobody: it
        tells the site to begin anew.
        """
        report = decode(frame)
        if not isinstance(report, ItemReport if self._of_items else Report | Change) or report.site != name:
            raise FormatError(f"expected a report of site {name!r} about what is watched, got another message")
        assert isinstance(report, Report | ItemReport | Change)
        if max(report.epoch, report.number) > _LARGEST_NUMBER:
            raise FormatError(f"expected numbers up to {_LARGEST_NUMBER}, got {max(report.epoch, report.number)}")
        if isinstance(report, ItemReport):
            self._check_clock(report.tick, name, clock)
            return
        self._check_shape(report.vector)
        told = coordinator.resolve(report)
        if told is not None:
            self._check_clock(told[0], name, clock)
            _check_counts(told[1])

    def _check_clock(self, tick: int, name: str, clock: int) -> None:
        if tick > clock + self._ahead:
            raise FormatError(
                f"the clock of site {name!r} is {tick - clock} ticks ahead, expected at most {self._ahead}; "
                "set its clock, or give it a smaller --ahead"
            )

    def _check_shape(self, vector: Vector) -> None:
        if vector.shape != self._shape:
            raise FormatError(f"expected a vector of shape {self._shape}, got {vector.shape}; do all watch the same?")


def _check_counts(vector: Vector) -> None:
    if vector.size and not 0 <= vector.min() <= vector.max() <= _LARGEST_COUNT:
        raise FormatError("expected counts from 0 to 2**53 in a vector, got others")
