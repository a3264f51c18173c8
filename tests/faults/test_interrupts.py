"""Ctrl-C at any moment of any call: the sketch is then as before the call or as after it, and goes on."""

from __future__ import annotations

import pytest
from fault_operations import COUNTERS
from fault_outcomes import names_of, outcomes

CASES = [(counter, name) for counter in COUNTERS for name in names_of(counter)]
FEW, MANY = 3, 10
"""Interrupts of each operation: some 400 in all in the quick suite, and 1,200 more in the slow one."""


def check(counter, name, fault, points, seed):
    found = outcomes(counter, fault, points, seed)[name]
    assert not found["wrong"], f"{found['wrong']} of {found['hit']} points: " + "\n".join(found["examples"])
    return found["hit"]


@pytest.mark.parametrize(("counter", "name"), CASES)
def test_an_interrupt_leaves_a_whole_sketch(counter, name):
    assert check(counter, name, "interrupt", FEW, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("counter", "name"), CASES)
def test_many_interrupts_leave_whole_sketches(counter, name):
    assert check(counter, name, "interrupt", MANY, 1)


@pytest.mark.slow
def test_there_were_a_thousand_interrupts():
    hits = [outcome["hit"] for counter in COUNTERS for outcome in outcomes(counter, "interrupt", MANY, 1).values()]
    assert sum(hits) >= 1000
