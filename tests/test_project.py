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
from ecmsketch.sketch.codec import _ENVELOPE, CHOICE_BITS, CONFIG

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
    assert {"numpy", "ecmsketch.inputs.items", "ecmsketch.engines"} <= imported
    assert (
        not {"numba", "llvmlite", "pyspark", "pyarrow", "pandas", "deltalake", "matplotlib", "typer", "rich"} & imported
    )


def test_the_spark_layer_needs_neither_the_command_line_nor_the_experiments():
    imported = modules_after_touching(".spark")
    assert {"pyspark", "pyarrow"} <= imported
    assert not {"pandas", "matplotlib", "typer", "rich", "ecmsketch.cli", "ecmsketch.experiments"} & imported


def test_the_check_of_imports_can_fail():
    assert "pyarrow" in modules_after_touching(".store")


def test_the_format_document_has_the_codecs_offsets():
    text = (ROOT / "docs" / "format.md").read_text()
    begin = _ENVELOPE.size
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


FIRST_QUESTION = """
import sys
import ecmsketch as ecm
assert not {"numpy", "ecmsketch.sketch"} & set(sys.modules)
for counter in ("slices", "eh"):
    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.1, delta=0.1, window=100, counter=counter))
    sketch.update("a", 1)
    assert sketch.estimate("a").value == 1
assert not {"numba", "llvmlite", "cython", "pyarrow", "pandas"} & set(sys.modules)
"""


def test_the_first_question_compiles_nothing_and_says_nothing():
    command = [sys.executable, "-c", FIRST_QUESTION]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (said.stdout, said.stderr) == ("", "")


HOUSE = ROOT / "src" / "ecmsketch"
FILES = sorted(HOUSE.rglob("*.py"))
LONG_FILES = {
    "engines/cells/engine.py": "the contract of an engine, method by method; what is behind each is in other files",
    "engines/cells/exponential_histogram.py": "one counter: buckets reserved, changed, merged and read by one rule",
    "engines/names/summaries.py": "one structure, seven columns in one array: making, joining and reading it",
    "engines/slices/stream.py": "one extension type and all its operations: only these may change its fields",
    "engines/slices/tables.py": "one packed form of tables: whoever changes how bits lie has to change all of it",
    "sketch/ingest.py": "one extension type: the quick update looks at its fields, and every change of them is here",
    "sketch/small_sketches.py": "one pass that writes the bytes of many sketches, side by side with the codec's rules",
}
"""Files over 500 lines, each with the reason."""
LONG_FUNCTIONS = {
    "engines/slices/bytes.py::decode": "one section after the other, in the order of docs/format.md",
    "engines/slices/inside.py::place_inside": "one pass over late events, whose cases share where the last one went",
    "engines/slices/table_code.py::get_numbers": "one loop over bits, kept in local variables for its speed",
}
"""Functions over 60 lines, as `file::function`, each with the reason."""
ENGINES = "each engine has files for the same ideas, named alike"
NAMED_TWICE = {
    "app": "cli/ and serve/ each make one: the command with its subcommands, and the web app",
    "bounds": "those of cells belong to their engine; sketch/ has those that hold for any engine",
    "coordinator": "cli/ has one file per command, named after it; monitor/ has the coordinator itself",
    "engine": ENGINES,
    "events": "engines/slices/ has the newest events of a stream; monitor/ has what sites report",
    "generate": "cli/ has one file per command, named after it; generate/ is what that command runs",
    "memory": "config/ plans what a sketch will take; kernels/ allocates it",
    "merging": "engines/slices/ merges streams; sketch/ merges sketches, and is what users import",
    "monitor": "cli/ has one file per command, named after it; monitor/ is what that command runs",
    "names": "the package of everything about names, and in it the names themselves",
    "packing": "kernels/ packs numbers; spark/ packs groups of rows",
    "ranges": "engines/slices/ finds slices in a range; sketch/ finds the range that a question means",
    "registry": "engines/cells/ lists counters; experiments/ lists experiments",
    "remembered": ENGINES,
    "serve": "cli/ has one file per command, named after it; serve/ is what that command runs",
    "site": "cli/ has one file per command, named after it; monitor/ has the site itself",
    "small_sketches": "sketch/ makes the bytes of many sketches at once; spark/ does so for groups of rows",
    "stream": "cli/ has one file per command, named after it; engines/slices/ has a stream of slices",
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
    entries = [path for path in HOUSE.iterdir() if path.name != "__pycache__"]
    files = [path.name for path in entries if path.is_file() and path.name != "py.typed"]  # an empty marker for mypy
    assert len(files) <= 5, files
    assert all((path / "__init__.py").is_file() for path in entries if path.is_dir())


def test_no_file_is_over_500_lines():
    lines = {place(path): len(path.read_text().splitlines()) for path in [*FILES, *HOUSE.rglob("*.p[xy][dx]")]}
    assert {name: count for name, count in lines.items() if count > 500 and name not in LONG_FILES} == {}
    assert all(lines[name] > 500 for name in LONG_FILES), "an exception that is no longer needed"


def test_no_function_is_over_60_lines():
    lines = {
        f"{place(path)}::{node.name}": node.end_lineno - node.lineno + 1
        for path in FILES
        for node in definitions(path)
        if not isinstance(node, ast.ClassDef)
    }
    assert {name: count for name, count in lines.items() if count > 60 and name not in LONG_FUNCTIONS} == {}
    assert all(lines[name] > 60 for name in LONG_FUNCTIONS), "an exception that is no longer needed"


def test_nothing_is_compiled_at_run_time():
    wanted = re.compile(r"^ *(import|from) (numba|llvmlite)\b", re.M)
    assert [place(path) for path in FILES if wanted.search(path.read_text())] == []


def test_no_module_name_stands_twice():
    folders = [path for path in HOUSE.rglob("*") if (path / "__init__.py").is_file()]
    files = [path for path in [*FILES, *HOUSE.rglob("*.pyx")] if not path.stem.startswith("__")]
    names = Counter([path.stem for path in files] + [path.name for path in folders])
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
    """Paths such as `engines/contract.py`, from the root or from src/ecmsketch."""
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
