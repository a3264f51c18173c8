"""Odd arguments to every command that starts no Spark: exit code 0, 1 or 2, and never a traceback."""

from __future__ import annotations

import random

import numpy as np
import pytest
from test_commands import run, run_here

import ecmsketch as ecm
from ecmsketch.store import SketchRow, SketchStore

TEXTS = (
    "", " ", "x", "0", "-1", "1.5", "nan", "inf", "-inf", "1e400", "9" * 400, "-" + "9" * 30, "²", "٣", "½", "\x1b[31m",
    "[/b]", "ü", "n" * 300, "n" * 5000, "/", ".", "..", "a/b", "5m", "1s", "none", "parsec", "true", "\ud800", "=",
    "a=b", "None", "file:///nowhere", "nosuch://x/y", "%00", "~", "*",
)  # fmt: skip
OPTIONS = {
    "plan": ("--epsilon", "--delta", "--window", "--unit", "--counter", "--merge-depth", "--events", "--sites"),
    "query": ("--last", "--site", "--seconds"),
    "top": ("-k", "--phi", "--last", "--site", "--seconds"),
    "quantile": ("--last", "--site"),
    "inspect": ("--site",),
    "merge": ("--out",),
}
ITEMS = ("²", "--5", "-5", "½", "٣", "9" * 400, "1e3", "")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A store, a file of one sketch, one of numbers, and things that are neither."""
    folder = tmp_path_factory.mktemp("odd")
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=3600, unit="s", merge_depth=1, heavy_hitters=True)
    sketch = ecm.EcmSketch(config)
    sketch.update_many(["a", "b", "a"], [1, 2, 3])
    SketchStore(folder / "store").append([SketchRow("one", sketch, 3), SketchRow("two", sketch, 3)])
    prefix = ecm.PrefixSketch(config.replace(heavy_hitters=False), bits=12)
    prefix.update_many(np.arange(300), np.arange(300))
    (folder / "numbers.ecms").write_bytes(prefix.serialize())
    (folder / "one.ecms").write_bytes(sketch.serialize())
    (folder / "broken.ecms").write_bytes(sketch.serialize()[:50])
    (folder / "empty.ecms").write_bytes(b"")
    (folder / "folder").mkdir()
    return [folder / name for name in ("store", "numbers.ecms", "one.ecms", "broken.ecms", "empty.ecms", "folder")]


def checked(words):
    done = run_here(list(map(str, words)))
    assert done.returncode in (0, 1, 2), (words, done)
    assert "Traceback" not in done.stderr, words
    return done


@pytest.mark.parametrize("command", OPTIONS)
@pytest.mark.parametrize("count", [4, pytest.param(len(TEXTS), marks=pytest.mark.slow)])
def test_any_value_of_any_option(sources, command, count, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = random.Random(command)
    for option in OPTIONS[command]:
        for text in rng.sample(TEXTS, count):
            source = rng.choice(sources[:3])
            given = {"plan": [], "query": [source, "a"], "quantile": [source, "0.5"]}.get(command, [source])
            more = ["--out", "all.ecms"] if command == "merge" and option != "--out" else []
            checked([command, *given, option, text, *more, *(["--json"] if rng.random() < 0.5 else [])])


@pytest.mark.parametrize("command", ["query", "top", "quantile", "inspect", "merge"])
def test_any_source(sources, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    more = {"query": ["a"], "quantile": ["0.5"], "merge": ["--out", tmp_path / "all.ecms"]}.get(command, [])
    for source in (*sources, *random.Random(command).sample(TEXTS, 6)):
        checked([command, source, *more])


def test_any_share(sources):
    for text in random.Random(0).sample(TEXTS, 12):
        checked(["quantile", sources[1], "--", text])


@pytest.mark.parametrize("text", ITEMS)
def test_any_item(sources, text):
    for source in sources[:3]:
        checked(["query", source, "--", text])


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--events", "-5"), ("--events", str(2**60)), ("--sites", "0"), ("--sites", "-1"), ("--merge-depth", "-1"),
        ("--merge-depth", "65"), ("--epsilon", "nan"), ("--epsilon", "0"), ("--delta", "1"), ("--window", "0"),
    ],
)  # fmt: skip
def test_numbers_out_of_range_are_refused(option, text):
    done = run_here(["plan", option, text])
    assert done.returncode in (1, 2)
    assert option.strip("-") in done.stderr


def test_a_merged_sketch_needs_a_place(sources, tmp_path):
    for out, says in (
        (tmp_path / "missing" / "all.ecms", "there is no folder"),
        (tmp_path, "got the folder"),
        (tmp_path / ("n" * 300), "cannot be written"),
        (sources[2] / "all.ecms", "there is no folder"),
    ):
        done = run("merge", sources[0], "--out", out, code=1)
        assert says in done.stderr
        assert "--out" in done.stderr
    assert list(tmp_path.iterdir()) == []
