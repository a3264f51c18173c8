"""Which clocks to believe: one wrong clock must move neither its own site by days nor the others.

Ticks are cut into clusters wherever a gap is longer than `ahead`. What follows a site's clock, or the clocks of the
others, without such a gap is believed. What lies beyond a gap is suspect. It is believed only if it is most of what
came, and either much of it came or the trigger before was as far ahead: then the stream did pause. All functions are
pure, so a trigger that is done again after a crash decides the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.inputs.ticks import MAX_TICK

Ints = NDArray[np.int64]

MANY = 100
"""A site's suspect events that are believed at once, if they are more than its others in a trigger."""


class Clock(NamedTuple):
    """What a site remembers of clocks from trigger to trigger. All but `live` are ticks.

    suspect  the newest tick that was not believed in the site's last trigger, if most were not
    live     whether the site's newest event was near the wall clock when it came
    others   the clock of all sites together, as far as it is believed
    jumped   where the clock of all sites jumped to, while that is not believed
    active   the clock of all sites, believed or not, or the site's own, when it last had events
    """

    suspect: int | None = None
    live: bool = False
    others: int | None = None
    jumped: int | None = None
    active: int | None = None

    def hear(self, newest: int | None, own: int | None, ahead: int | None) -> Clock:
        """Take the clock of all sites. A jump by more than `ahead` is believed once the clock has moved on again."""
        if newest is None:
            return self
        known = [tick for tick in (self.others, own) if tick is not None]
        near = ahead is None or not known or newest <= max(known) + ahead
        if near or (self.jumped is not None and newest > self.jumped):
            return self._replace(others=newest, jumped=None)
        return self._replace(jumped=newest)

    def met(self, newest: int | None, own: int | None) -> Clock:
        """Events of the site came: it is not idle."""
        return self._replace(active=_latest(newest, own))

    def is_idle(self, newest: int | None, idle_after: int) -> bool:
        """Whether all sites together have moved on by `idle_after` since this one had events."""
        return newest is not None and newest - (self.active or 0) >= idle_after


def judge(ticks: Ints, own: int | None, wall: int | None, ahead: int | None, clock: Clock) -> tuple[int, Clock]:
    """How many of a site's ticks, sorted and of one trigger, are believed; the others are the newest ones.

    own    the site's clock
    wall   the time of the trigger, if ticks are times: nothing later than `ahead` after it is believed
    """
    if ahead is None or not len(ticks):
        return len(ticks), clock._replace(suspect=None) if len(ticks) else clock
    newest, known = int(ticks[-1]), _latest(own, clock.others)
    reach = min(MAX_TICK if tick is None else tick + ahead for tick in (wall, known))
    if newest <= reach and newest - int(ticks[0]) <= ahead:  # as nearly always
        return len(ticks), clock._replace(suspect=None, live=wall is not None and newest >= wall - ahead)
    possible = len(ticks) if wall is None else _up_to(ticks, wall + ahead)
    believed = _follow(ticks[:possible], known, ahead)
    if clock.live and wall is not None and possible and int(ticks[possible - 1]) >= wall - ahead:
        believed = possible  # live events again, after a pause
    believed += _confirmed(ticks[believed:possible], believed, clock.suspect, ahead)
    live = clock.live
    if believed:
        live = wall is not None and int(ticks[believed - 1]) >= wall - ahead
    return believed, clock._replace(suspect=_suspect(ticks[believed:possible], believed, ahead), live=live)


def began_wrong(ticks: Ints, own: int | None, events: int, ahead: int | None, clock: Clock) -> bool:
    """Whether a site's clock was wrong from its first events on, as more events of a trigger, sorted, now show.

    Its clock is then more than `ahead` of them and of the others, and was not live. The site should begin anew.
    """
    if ahead is None or own is None or clock.live or not events < min(len(ticks), MANY):
        return False
    newest = int(ticks[main_cluster(ticks, ahead)[1] - 1])
    return newest + ahead < own and (clock.others is None or clock.others + ahead < own)


def main_cluster(ticks: Ints, ahead: int | None) -> tuple[int, int]:
    """Where the largest cluster of sorted ticks begins and ends; the earliest of those as large."""
    if ahead is None or int(ticks[-1]) - int(ticks[0]) <= ahead:
        return 0, len(ticks)
    edges = _edges(ticks, ahead)
    largest = int(np.argmax(np.diff(edges)))
    return int(edges[largest]), int(edges[largest + 1])


def newest_of_most(ticks: Ints, ahead: int | None) -> tuple[int, int]:
    """The newest tick of the largest cluster of ticks in any order, and how many are in it."""
    low, high = int(ticks.min()), int(ticks.max())
    if ahead is None or high - low <= ahead:
        return high, len(ticks)
    ordered = np.sort(ticks)
    begin, end = main_cluster(ordered, ahead)
    return int(ordered[end - 1]), end - begin


def _follow(ticks: Ints, reference: int | None, ahead: int) -> int:
    """How many ticks follow the reference without a gap longer than `ahead`; without one, the largest cluster."""
    if not len(ticks):
        return 0
    if reference is None:
        return main_cluster(ticks, ahead)[1]
    near = _up_to(ticks, reference + ahead)
    if near in (0, len(ticks)):
        return near
    edges = _edges(ticks, ahead)
    return int(edges[np.searchsorted(edges, near)])


def _confirmed(rest: Ints, before: int, suspect: int | None, ahead: int) -> int:
    """How many suspect ticks are believed after all, `before` being the number of those that were at once."""
    if len(rest) <= before:
        return 0
    if suspect is not None and abs(int(rest[np.abs(rest - suspect).argmin()]) - suspect) <= ahead:
        return _follow(rest, suspect, ahead)
    begin, end = main_cluster(rest, ahead)
    return end if end - begin >= MANY else 0


def _suspect(rest: Ints, believed: int, ahead: int) -> int | None:
    """Where the next trigger must be as well; a few wrong ticks among others are no sign of a pause."""
    return int(rest[main_cluster(rest, ahead)[1] - 1]) if len(rest) > believed else None


def _edges(ticks: Ints, ahead: int) -> Ints:
    """Where clusters begin, and the end. Differences of ticks in range fit, since these are below 2**63."""
    gaps = np.flatnonzero(np.diff(ticks) > ahead) + 1
    return np.concatenate([[0], gaps, [len(ticks)]])


def _up_to(ticks: Ints, tick: int) -> int:
    """How many of the sorted ticks are not after a tick, which may be out of range."""
    return int(np.searchsorted(ticks, min(tick, MAX_TICK), side="right"))


def _latest(*ticks: int | None) -> int | None:
    return max((tick for tick in ticks if tick is not None), default=None)
