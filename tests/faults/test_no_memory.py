"""A MemoryError in any call: the sketch is then as before the call or as after it, and goes on."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from fault_operations import COUNTERS
from fault_outcomes import names_of, outcomes

CASES = [(counter, name) for counter in COUNTERS for name in names_of(counter)]
FAULTS = {
    "allocate": "the library's own allocations fail from the n-th on",
    "python": "the n-th allocation of Python's objects fails",
}
FEW, MANY = 3, 10
"""Failing allocations tried for each operation: 400 of each sort in the quick suite, 1,200 more in the slow one."""


def check(counter, name, fault, points, seed):
    if fault == "allocate" and find_spec("ecmsketch.kernels.memory") is None:
        pytest.skip("this version has no allocations of its own that can be let fail")
    if fault == "python" and find_spec("_testcapi") is None:
        pytest.skip("this Python has no _testcapi")
    found = outcomes(counter, fault, points, seed)[name]
    assert not found["wrong"], f"{found['wrong']} of {found['hit']} points: " + "\n".join(found["examples"])


@pytest.mark.parametrize("fault", list(FAULTS))
@pytest.mark.parametrize(("counter", "name"), CASES)
def test_a_failed_allocation_leaves_a_whole_sketch(counter, name, fault):
    check(counter, name, fault, FEW, 0)


@pytest.mark.slow
@pytest.mark.parametrize("fault", list(FAULTS))
@pytest.mark.parametrize(("counter", "name"), CASES)
def test_many_failed_allocations_leave_whole_sketches(counter, name, fault):
    check(counter, name, fault, MANY, 1)


@pytest.mark.slow
@pytest.mark.parametrize("fault", list(FAULTS))
def test_there_were_enough_failures(fault):
    """Operations that allocate nothing are few."""
    if find_spec("ecmsketch.kernels.memory") is None:
        pytest.skip("this version has no allocations of its own that can be let fail")
    hits = [outcome["hit"] for counter in COUNTERS for outcome in outcomes(counter, fault, MANY, 1).values()]
    assert sum(hits) >= 500
