"""Names from data are shown as text: no markup of rich, no character that acts on a terminal."""

from __future__ import annotations

import io
import json
import re
import subprocess
import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from test_commands import COMMAND, ENVIRONMENT, run

import ecmsketch as ecm
from ecmsketch.cli import output
from ecmsketch.inputs.visible import visible
from ecmsketch.store import SketchRow, SketchStore

HOSTILE = (
    "/a[/b]", "[/x]", "[bold]x", "[link=https://x]y[/link]", "a:smile:b", "[", "\\[bold]", "tab\there", "line\nbreak",
    "\x1b[31mred", "\x1b]0;title\x07", "\x9b31m", "\r overwritten", "\u202egnp.exe", "zero\u200bwidth", "\ufeffbom",
    "nb\u00a0space", "\u2028line", "emoji \U0001f600", "ünïcödé", "\x7f\x08", "{task.description}", "%s %d",
)  # fmt: skip
SHOWN = {name: visible(name) for name in HOSTILE}


def check(text):
    """No character of an output acts on the terminal: only rich's own colours, and line ends, are there."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    for char in plain:
        assert char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp"), repr(char)
    return plain


def test_what_is_visible():
    assert visible("plain text, ünïcödé \U0001f600 [b]") == "plain text, ünïcödé \U0001f600 [b]"
    assert visible("\x1b[31m\n\t\u202e\u200b\u00a0\ud800") == r"\x1b[31m\n\t\u202e\u200b\xa0\ud800"
    assert len(set(SHOWN.values())) == len(HOSTILE)  # those that differ look different


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "a {task.description} :smile: %d"
    folder.mkdir()
    config = ecm.SketchConfig(epsilon=0.05, delta=0.05, window=3600, unit="s", merge_depth=1, heavy_hitters=True)
    for site in ("[/x]", "\x1b[31m"):
        sketch = ecm.EcmSketch(config)
        items = [name for name in HOSTILE for _ in range(10)]
        sketch.update_many(items, np.arange(len(items)))
        SketchStore(folder / "store").append([SketchRow(site, sketch, len(items))])
    prefix = ecm.PrefixSketch(config.replace(heavy_hitters=False), bits=12)
    prefix.update_many(np.arange(300), np.arange(300))
    (folder / "numbers.ecms").write_bytes(prefix.serialize())
    return folder


def test_a_path_that_delta_cannot_use(hostile):
    (hostile / "[b]").mkdir()
    for words in (("query", hostile / "[b]", "x"), ("inspect", hostile / "[b]"), ("top", hostile / "[b]")):
        done = run(*words, code=1)
        assert "[b]" in check(done.stderr)
        assert "Traceback" not in done.stderr


def squeezed(text):
    return re.sub(r"\s", "", text)


def test_items_in_top_and_query(hostile):
    found = squeezed(check(run("top", hostile / "store", "-k", "50").stdout))
    asked = squeezed(check(run("query", hostile / "store", *HOSTILE).stdout))
    for name in HOSTILE:
        assert squeezed(SHOWN[name]) in found
        assert squeezed(SHOWN[name]) in asked
    rows = json.loads(run("top", hostile / "store", "-k", "50", "--json").stdout)
    assert {row["item"] for row in rows} == set(HOSTILE)


def test_sites_paths_and_columns(hostile):
    found = check(run("inspect", hostile / "store").stdout)
    assert "[/x]" in found
    assert r"\x1b[31m" in found
    assert {row["site"] for row in json.loads(run("inspect", hostile / "store", "--json").stdout)} == {
        "[/x]",
        "\x1b[31m",
    }
    check(run("inspect", hostile / "store", "--site", "[/x]").stdout)
    merged = run("merge", hostile / "store", "--out", hostile / "all[b]\x1b.ecms")
    assert r"all[b]\x1b.ecms" in squeezed(check(merged.stdout)).replace("\n", "")
    check(merged.stderr)
    check(run("quantile", hostile / "numbers.ecms", "0.5").stdout)


@pytest.mark.parametrize("name", ["/a[/b]", "[bold]x", "line\nbreak", "\x1b]0;title\x07", "\u202egnp.exe"])
def test_errors(hostile, name):
    pq.write_table(pa.table({name: [1], "t": [1]}), hostile / "one.parquet")
    columns = ("--item", name, "--site", name + "x")
    store = hostile / "s"
    for words, code in (
        (("query", name, "x"), 1),
        (("query", hostile / "store", "x", "--site", name + "x"), 1),
        (("query", hostile / "store", "x", "--last", name), 2),
        (("merge", hostile / "store", "--out", str(hostile / name / "y")), 1),
        (("plan", "--unit", name), 2),
        (("plan", "--counter", name), 1),
        (("plan", "--" + name), 2),
        ((name,), 2),
        (("build", hostile / "one.parquet", "--store", store, *columns, "--tick", "t"), 1),
        (("stream", hostile / "one.parquet", "--store", store, "--checkpoint", store, *columns, "--tick", name), 1),
        (("monitor", "--function", name, "--folder", store, "--last", "1m", "--rate", "5", "--above", "1"), 2),
        (("monitor", hostile / name, "--function", "total", "--folder", store, "--last", "1m", "--above", "1",
          *columns, "--tick", "t"), 1),
    ):  # fmt: skip
        done = run_here_or_elsewhere(words)
        assert done.returncode == code, (words, done.stdout + done.stderr)
        check(done.stdout)
        check(done.stderr)
        assert "Traceback" not in done.stderr


def run_here_or_elsewhere(words):
    """In this process, also commands that start Spark: these must fail before they do."""
    from unittest import mock

    from test_commands import run_here

    with mock.patch("ecmsketch.cli.session.spark_session", side_effect=AssertionError("Spark was started")):
        return run_here(list(map(str, words)))


@pytest.mark.parametrize("terminal", [True, False])
def test_everything_that_is_printed(terminal, monkeypatch):
    for name in HOSTILE:
        rows = [{"item": name, name: name, "value": 1.0}]
        text = printed(
            lambda rows=rows, name=name: output.show(rows, False, title=name, note=name), terminal, monkeypatch
        )
        assert squeezed(check(text)).count(squeezed(SHOWN[name])) == 5 if name != "[" else True
        check(printed(lambda name=name: output.show_one({"path": name}, False), terminal, monkeypatch))


def printed(show, terminal, monkeypatch):
    file = io.StringIO()
    monkeypatch.setattr(
        "rich.console.Console", lambda **options: Console(file=file, force_terminal=terminal, width=200)
    )
    show()
    return file.getvalue()


def test_progress_and_lines_for_people(capfd):
    for name in HOSTILE:
        with output.working(name) as change:
            change(name)
        output.say(name)
    said = capfd.readouterr()
    assert said.out == ""
    for name in HOSTILE:
        assert SHOWN[name] + "\n" in said.err
    check(said.err)


def test_a_terminal_that_has_not_all_characters(hostile):
    environment = {**ENVIRONMENT, "PYTHONIOENCODING": "ascii"}
    command = [*COMMAND, "query", str(hostile / "store"), "ünïcödé", "[bold]x"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    assert r"\xfcn\xefc\xf6d\xe9" in done.stdout
