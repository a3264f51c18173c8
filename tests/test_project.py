"""What a newcomer meets first: examples run, imports are light, and the documents state what the code does."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
import tomllib
from collections import Counter
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest

import ecmsketch as ecm
from ecmsketch.cli.app import app
from ecmsketch.config.sketch_config import CHOICES
from ecmsketch.sketch.codec import CHOICE_BITS, CONFIG
from ecmsketch.sketch.header_bytes import ENVELOPE

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.slow] if path.name == "demo.py" else [])  # that is `make demo`
        for path in sorted((ROOT / "examples").glob("*.py"))
        if path.name != "live.py"  # runs until Ctrl-C: tests/spark/test_live_example.py
    ],
    ids=lambda path: path.name,
)
def test_examples_run(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    said = capsys.readouterr().out
    assert said
    if path.name == "flood.py":  # nobody has told it of that page
        first = [line.split()[1:4] for line in said.splitlines()[:2]]
        assert first == [["ALERT:", "page", "4242"], ["over:", "page", "4242"]]


CORE = ("", ".domains", ".errors", ".generate", ".monitor", ".worldcup98")
TOUCH_EVERY_PUBLIC_NAME = """
import sys
from importlib import import_module
for suffix in sys.argv[1:]:
    module = import_module("ecmsketch" + suffix)
    for name in getattr(module, "__all__", dir(module)):
        getattr(module, name)
print(*sys.modules)
"""


def modules_after_touching(*suffixes):
    """Every module that a fresh process has imported once all public names of these modules were used."""
    command = [sys.executable, "-c", TOUCH_EVERY_PUBLIC_NAME, *suffixes]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_the_core_needs_neither_spark_nor_arrow_nor_pandas():
    imported = modules_after_touching(*CORE)
    assert {"numpy", "numba", "ecmsketch.inputs.items", "ecmsketch.counters"} <= imported
    assert not {"pyspark", "pyarrow", "pandas", "deltalake", "matplotlib", "typer", "rich"} & imported


def test_the_spark_layer_needs_neither_the_command_line_nor_the_experiments():
    imported = modules_after_touching(".spark")
    assert {"pyspark", "pyarrow"} <= imported
    assert not {"pandas", "matplotlib", "typer", "rich", "ecmsketch.cli", "ecmsketch.experiments"} & imported


def test_the_check_of_imports_can_fail():
    assert "pyarrow" in modules_after_touching(".store")


def test_the_format_document_has_the_codecs_offsets():
    text = (ROOT / "docs" / "format.md").read_text()
    begin = ENVELOPE.size
    assert f"| {begin} | C | config |" in text
    assert f"| {begin} + C + S + K | | counters" in text
    documented = re.findall(r"^\| (\d+) \| (f64|u16|u8|varint) \|", text, re.M)
    layout, offset = [], begin
    for letter in CONFIG.format.lstrip("<"):
        layout.append((str(offset), {"d": "f64", "H": "u16", "B": "u8"}[letter]))
        offset += {"d": 8, "H": 2, "B": 1}[letter]
    assert documented == [*layout, (str(offset), "varint")]


def test_the_format_document_has_every_choice_at_its_bits():
    text = (ROOT / "docs" / "format.md").read_text()
    first = 0
    for name, bits in CHOICE_BITS.items():
        place = str(first) if bits == 1 else f"{first} to {first + bits - 1}"
        (numbers,) = re.findall(rf"^\| {place} \| {name}: (.*) \|$", text, re.M)
        assert [int(number) for number in re.findall(r"\b(\d) ", numbers)] == list(range(len(CHOICES[name])))
        assert len(CHOICES[name]) <= 1 << bits
        first += bits


def test_compiling_for_the_first_time_says_so(tmp_path):
    code = "import numpy as np; from ecmsketch.kernels.sorting import is_sorted; is_sorted(np.arange(5))"
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": ""}
    first, again = (
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    assert "compiling kernels" in first.stderr
    assert again.stderr == ""


HOUSE = ROOT / "src" / "ecmsketch"
FILES = sorted(HOUSE.rglob("*.py"))
LONG_FILES: dict[str, str] = {}
"""Files over 300 lines, each with the reason."""
LONG_FUNCTIONS: dict[str, str] = {}
"""Functions over 40 lines, as `file::function`, each with the reason."""
NAMED_TWICE = {
    "app": "cli/ and serve/ each make one: the command with its subcommands, and the web app",
    "coordinator": "cli/ has one file per command, named after it; monitor/ has the coordinator itself",
    "generate": "cli/ has one file per command, named after it; generate/ is what that command runs",
    "monitor": "cli/ has one file per command, named after it; monitor/ is what that command runs",
    "serve": "cli/ has one file per command, named after it; serve/ is what that command runs",
    "site": "cli/ has one file per command, named after it; monitor/ has the site itself",
}
"""Names of modules that stand twice, each with the reason."""


def place(path):
    return str(path.relative_to(HOUSE))


def definitions(path):
    """Functions and classes of a file, with their names."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node


def test_the_package_holds_rooms_and_few_files():
    entries = [
        path for path in HOUSE.iterdir() if path.name != "__pycache__" and not path.name.endswith((".nbi", ".nbc"))
    ]
    files = [path.name for path in entries if path.is_file() and path.name != "py.typed"]  # an empty marker for mypy
    assert len(files) <= 5, files
    assert all((path / "__init__.py").is_file() for path in entries if path.is_dir())


def test_no_file_is_over_300_lines():
    lines = {place(path): len(path.read_text().splitlines()) for path in FILES}
    assert {name: count for name, count in lines.items() if count > 300 and name not in LONG_FILES} == {}
    assert all(lines[name] > 300 for name in LONG_FILES), "an exception that is no longer needed"


def test_no_function_is_over_40_lines():
    lines = {
        f"{place(path)}::{node.name}": node.end_lineno - node.lineno + 1
        for path in FILES
        for node in definitions(path)
        if not isinstance(node, ast.ClassDef)
    }
    assert {name: count for name, count in lines.items() if count > 40 and name not in LONG_FUNCTIONS} == {}
    assert all(lines[name] > 40 for name in LONG_FUNCTIONS), "an exception that is no longer needed"


def test_no_module_name_stands_twice():
    folders = [path for path in HOUSE.rglob("*") if (path / "__init__.py").is_file()]
    names = Counter([path.stem for path in FILES if not path.stem.startswith("__")] + [path.name for path in folders])
    assert {name for name, count in names.items() if count > 1} == set(NAMED_TWICE)


def test_no_docstring_opens_with_of():
    found = [
        f"{place(path)}:{getattr(node, 'lineno', 1)}"
        for path in FILES
        for node in [ast.parse(path.read_text()), *definitions(path)]
        if (ast.get_docstring(node) or "").startswith("Of ")
    ]
    found += [
        f"{place(path)}:{node.lineno}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str) and node.value.value.startswith("Of ")
    ]
    assert sorted(set(found)) == []


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text())
    relative = [link.partition("#")[0] for link in links if "://" not in link and not link.startswith("#")]
    assert [link for link in relative if not (page.parent / link).exists()] == []


CODE_FILE = re.compile(r"`((?:src/ecmsketch/)?(?:\w+/)+\w+\.py)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_of_the_code_that_a_page_names_exist(page):
    """Paths such as `counters/contract.py`, from the root or from src/ecmsketch."""
    named = CODE_FILE.findall(page.read_text())
    assert [name for name in named if not (ROOT / name).exists() and not (HOUSE / name).exists()] == []


def test_the_architecture_page_names_every_room_in_the_order_of_the_import_contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    text = (ROOT / "docs" / "architecture.md").read_text()
    drawn = re.findall(r"^ *│ (\w+)(?:/|\.py) ", text, re.M)
    assert drawn == layers
    assert {path.name for path in HOUSE.iterdir() if (path / "__init__.py").is_file()} <= set(layers)


def public_names():
    """What users can import or call by name: public modules, the members of their classes, parameters, commands."""
    names = {command.name or command.callback.__name__ for command in app.registered_commands}
    names |= {group.name for group in app.registered_groups}
    for suffix in (*CORE, ".alerts", ".spark", ".store"):
        module = import_module("ecmsketch" + suffix)
        for name in getattr(module, "__all__", dir(module)):
            found = getattr(module, name)
            names.add(name)
            if isinstance(found, type):
                names |= {member for member in dir(found) if not member.startswith("_")}
    for function in (ecm.load, ecm.merge, ecm.concat, ecm.EcmSketch.deserialize):
        names |= set(signature(function).parameters)
    return names


def test_names_that_the_changelog_offers_can_be_used():
    text = (ROOT / "CHANGELOG.md").read_text()
    known = public_names()
    plain = {name for name in re.findall(r"`([A-Za-z_]+)`", text) if not name.startswith("ecm_")}
    assert plain - known == set()
    for dotted in re.findall(r"`(ecmsketch(?:\.\w+)+)`", text):
        home, _, name = dotted.rpartition(".")
        assert hasattr(import_module(home), name) or import_module(dotted), dotted


@pytest.mark.parametrize("name", ["unite", "nosuch"])
def test_the_check_of_names_can_fail(name):
    assert name not in public_names()
