"""docs/streaming.md says what happens when something goes wrong; every test that it names exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TABLE = (ROOT / "docs/streaming.md").read_text().partition("## What goes wrong")[2].partition("\n## ")[0]
NAMED = re.findall(r"(test_\w+\.py)(?:\]\(([^)]+)\))?::(\w+)", TABLE)


def test_every_row_names_a_test():
    rows = [line for line in TABLE.splitlines() if line.startswith("| ") and not line.startswith(("| what", "| ---"))]
    assert len(rows) > 25
    assert [row for row in rows if "::" not in row] == []


@pytest.mark.parametrize(("file", "link", "name"), NAMED)
def test_it_exists(file, link, name):
    (path,) = ROOT.glob(f"tests/**/{file}")
    assert not link or (ROOT / "docs" / link).resolve() == path
    assert re.search(rf"(def|class) {name}\b", path.read_text())
