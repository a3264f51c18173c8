"""How slices grow, written down plainly from its definitions: slow, and the same to the last bit."""

from __future__ import annotations

from itertools import pairwise

from slice_cases import ARRIVALS, FIRST, KNOT, LAST

PARTS = 8


def bounds(row):
    """The ticks between which an eighth of a slice's arrivals came each."""
    return [int(row[FIRST]) - 1, *(int(tick) for tick in row[KNOT : KNOT + 7]), int(row[LAST])]


def share(row, tick):
    """The share of arrivals up to a tick: all eighths that ended, and of the next as much as time has passed of it."""
    ends = bounds(row)
    if tick <= ends[0]:
        return 0.0
    for part in range(PARTS):
        if tick < ends[part + 1]:
            return (part + (tick - ends[part]) / (ends[part + 1] - ends[part])) / PARTS
    return 1.0


def tick_of(row, some):
    """The tick by which a share of the arrivals had come, rounded."""
    part = min(int(some * PARTS), PARTS - 1)
    begin, end = bounds(row)[part : part + 2]
    return begin + int((end - begin) * (some * PARTS - part) + 0.5)


def overlap(rows):
    return any(row[FIRST] < before[LAST] for before, row in pairwise(rows))


def knots_of(rows):
    """The knots of several slices as one."""
    arrivals, first = sum(int(row[ARRIVALS]) for row in rows), min(int(row[FIRST]) for row in rows)
    last, found = max(int(row[LAST]) for row in rows), []
    crossing = overlap(rows)
    before = first - 1 if crossing else first
    for part in range(1, PARTS):
        wanted = float(arrivals) * part / PARTS
        if crossing:
            moments = range(min(before, last - 1) + 1, last + 1)
            came = (sum(share(row, tick) * float(row[ARRIVALS]) for row in rows) for tick in moments)
            before = next((tick for tick, some in zip(moments, came, strict=True) if some >= wanted), last)
        else:
            passed, slot = 0.0, 0
            while slot < len(rows) - 1 and passed + float(rows[slot][ARRIVALS]) < wanted:
                passed += float(rows[slot][ARRIVALS])
                slot += 1
            tick = tick_of(rows[slot], min((wanted - passed) / float(rows[slot][ARRIVALS]), 1.0))
            before = min(max(tick, before), last)
        found.append(before)
    return found


def spare_of(rows, newer, carried):
    """For each slice, how many of the arrivals that surely came after its last moment could have straddled that."""
    found = []
    for row in rows:
        total = newer + sum(int(other[ARRIVALS]) for other in rows if other[LAST] >= row[LAST])
        sure = newer + sum(int(other[ARRIVALS]) for other in rows if other[FIRST] >= row[LAST])
        found.append(sure - (total - 2.0 * carried) / (1.0 + 2.0 * carried))
    return found


def groups_of(rows, newer, epsilon_t, carried):
    """(Begin, end) of each group of slices that become one, oldest first."""
    groups, end, crossing = [], len(rows), overlap(rows)
    spare = spare_of(rows, newer, carried) if crossing else []

    def facts(begin, end):
        some = rows[begin:end]
        return min(int(row[FIRST]) for row in some), sum(int(row[ARRIVALS]) for row in some)

    while end > 0:
        begin, last = end - 1, rows[end - 1][LAST]
        newest = [facts(*group) for group in groups]
        later = newer + sum(arrivals for _, arrivals in newest)
        sure = newer + sum(arrivals for first, arrivals in newest if first >= last)
        most = 2.0 * epsilon_t * (later + 1)
        if crossing:
            most = min(most, 2.0 * carried * (sure + 1) - (later - sure))
        while begin > 0:
            first, arrivals = facts(begin - 1, end)
            covered = [k for k in range(begin - 1) if rows[k][LAST] > first] if crossing else []
            if arrivals > most or any(arrivals > spare[k] for k in covered):
                break
            begin -= 1
        first, _ = facts(begin, end)
        for k in range(begin if crossing and end - begin > 1 else 0):
            if rows[k][LAST] > first:
                spare[k] -= sum(float(row[ARRIVALS]) for row in rows[begin:end] if row[FIRST] >= rows[k][LAST])
        groups.append((begin, end))
        end = begin
    return groups[::-1]
