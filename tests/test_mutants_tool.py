"""The tool that puts bugs into sources changes one place at a time, and leaves Python behind."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
SOURCE = '''"""Docs with 1 < 2."""

import cython


def most(a: int, b: int = 3) -> int:
    """More than 0."""
    total = cython.cast(int64_t[4], a + 1)
    if a <= b and not total == 2 or a is not None:
        total += min(a, b)
        items[0].count = 5
        raise ValueError(f"expected {a + 1}")
    for i in range(10):
        if i % 2:
            continue
        break
    return total << 1 if a > 0 else -b
'''


@pytest.fixture(scope="module")
def changes_of():
    sys.path.insert(0, str(TOOLS))
    try:
        from mutating.changes import changes_of
    finally:
        sys.path.remove(str(TOOLS))
    return changes_of


def test_every_kind_of_change_is_found(changes_of):
    found = {change.what for change in changes_of(SOURCE.encode())}
    assert {
        "<= becomes <", "<= becomes >", "and becomes or", "or becomes and", "not is left out", "== becomes !=",
        "is not becomes is", "+= becomes -=", "min is swapped", "raise is left out", "10 becomes 11", "10 becomes 9",
        "% becomes //", "continue is left out", "break becomes continue", "<< becomes >>", "> becomes >=",
        "- is left out", "condition is negated", "statement is left out", "3 becomes 4",
    } <= found  # fmt: skip


def test_texts_types_and_pointers_are_left_alone(changes_of):
    for change in changes_of(SOURCE.encode()):
        lines = SOURCE.splitlines()
        assert '"""' not in lines[change.line - 1]
        changed = change.applied(SOURCE.encode()).decode()
        assert "int64_t[4]" in changed
        assert "items[0]" in changed or "statement is left out" in change.what
        assert "expected {a + 1}" in changed or change.what == "raise is left out"
        ast.parse(changed)
        assert changed != SOURCE


def test_the_same_changes_every_time(changes_of):
    source = (TOOLS.parent / "src" / "ecmsketch" / "config" / "budget.py").read_bytes()
    assert changes_of(source) == changes_of(source)
    assert len(changes_of(source)) > 100
