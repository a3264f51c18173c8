"""CITATION.cff is a citation file of version 1.2.0, and says the same as the rest of the project."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
KEYS = {
    "abstract", "authors", "cff-version", "commit", "contact", "date-released", "doi", "identifiers", "keywords",
    "license", "license-url", "message", "preferred-citation", "references", "repository", "repository-artifact",
    "repository-code", "title", "type", "url", "version",
}  # fmt: skip
"""All that version 1.2.0 of the format allows at the top."""


@pytest.fixture(scope="module")
def citation():
    return yaml.safe_load((ROOT / "CITATION.cff").read_text())


def test_it_has_the_keys_that_the_format_demands_and_no_others(citation):
    assert {"authors", "cff-version", "message", "title"} <= citation.keys() <= KEYS
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] in ("software", "dataset")
    texts = [citation["title"], citation["message"], citation["version"], *citation["keywords"]]
    assert all(isinstance(text, str) and text for text in texts)
    assert citation["authors"] == [{"name": f"The {PROJECT['name']} contributors"}]


def test_version_and_license_are_those_of_the_project(citation):
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"] == "Apache-2.0"
    words = (ROOT / "LICENSE").read_text().split()
    assert words[:4] == ["Apache", "License", "Version", "2.0,"]


def test_the_paper_is_a_reference_with_its_three_authors(citation):
    (paper,) = citation["references"]
    assert {"authors", "title", "type"} <= paper.keys()
    assert paper["type"] == "article"
    assert paper["title"] in " ".join((ROOT / "README.md").read_text().split())
    assert [author["family-names"] for author in paper["authors"]] == ["Papapetrou", "Garofalakis", "Deligiannakis"]
    assert all(author.keys() == {"family-names", "given-names"} for author in paper["authors"])
    assert re.fullmatch(r"10\.\d{4,9}(\.\d+)?/\S+", paper["doi"])
    assert paper["start"] < paper["end"]
