"""The command line, as a user runs it."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ecmsketch as ecm
from ecmsketch.cli import main
from ecmsketch.generate import WorldCupLog
from ecmsketch.store import SketchRow, SketchStore
from ecmsketch.worldcup98 import to_columns

COMMAND = [sys.executable, "-m", "ecmsketch.cli"]
ENVIRONMENT = {**os.environ, "COLUMNS": "160", "NO_COLOR": "1", "SPARK_LOCAL_IP": "127.0.0.1"}


SPARK = {"generate", "build", "stream", "monitor", "reproduce"}
"""Commands that start Spark, which a process can do once."""


def run(*arguments, code=0):
    """A command, in this process if it can be: the exit code, and what it wrote."""
    words = list(map(str, arguments))
    if words[0] in SPARK and "--help" not in words:
        done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, env=ENVIRONMENT, timeout=180)
    else:
        done = run_here(words)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def run_here(words):
    out, errors = io.StringIO(), io.StringIO()
    with (
        mock.patch.dict(os.environ, ENVIRONMENT),
        mock.patch.object(sys, "argv", ["ecmsketch", *words]),
        redirect_stdout(out),
        redirect_stderr(errors),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    return subprocess.CompletedProcess(words, ended.value.code or 0, out.getvalue(), errors.getvalue())


@pytest.fixture(scope="module", params=["eh", "slices"])
def store(tmp_path_factory, request):
    """Two sites, and a file of both merged."""
    folder = tmp_path_factory.mktemp("cli")
    resolution = 0.2 if request.param == "slices" else None
    config = ecm.SketchConfig(
        epsilon=0.01, delta=0.01, window=3600, unit="s", merge_depth=1, heavy_hitters=True, counter=request.param,
        resolution=resolution,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    for site in ("lyon", "nice"):
        sketch = ecm.EcmSketch(config)
        sketch.update_many([f"/page/{n}" for n in rng.zipf(1.5, 3000) % 40], np.sort(rng.integers(0, 3600, 3000)))
        SketchStore(folder / "store").append([SketchRow(site, sketch, 3000)])
    prefix = ecm.PrefixSketch(config.replace(heavy_hitters=False), bits=12)
    prefix.update_many(np.arange(3000) % 1000, np.arange(3000))
    (folder / "delays.ecms").write_bytes(prefix.serialize())
    return folder


def latest(store):
    return SketchStore(store / "store").latest()


def test_help_is_quick_and_imports_nothing_heavy():
    code = (
        "import sys; sys.argv = ['ecmsketch', '--help']\n"
        "from ecmsketch.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'pyspark', 'pyarrow', 'deltalake', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    assert done.returncode == 0, done.stderr
    for command in (
        "plan",
        "generate",
        "build",
        "merge",
        "query",
        "top",
        "quantile",
        "inspect",
        "monitor",
        "coordinator",
        "site",
        "reproduce",
    ):
        assert command in done.stdout
        assert "Example: ecmsketch" in run(command, "--help").stdout.replace("\n", " ") or command == "generate"


def test_plan():
    facts = json.loads(run("plan", "--epsilon", "0.1", "--window", "1h", "--sites", "3", "--json").stdout)
    config = ecm.SketchConfig(epsilon=0.1, delta=0.01, window=3600, unit="s", merge_depth=1)
    assert (facts["rows"], facts["counters_per_row"]) == (config.depth, config.width)
    assert facts["memory_of_all_sites"] == 3 * config.expected_nbytes(1_000_000)
    assert "counter 'dw'" in run("plan").stdout


@pytest.mark.parametrize("counter", ["eh", "slices"])
def test_plan_takes_a_resolution_and_prices_both_engines(counter):
    given = ("plan", "--epsilon", "0.001", "--counter", counter, "--resolution", "0.05")
    config = ecm.SketchConfig(
        epsilon=0.001, delta=0.01, window=86_400, unit="s", merge_depth=1, counter=counter, resolution=0.05
    )
    facts = json.loads(run(*given, "--json").stdout)
    assert (facts["counter"], facts["memory_per_site"]) == (counter, config.expected_nbytes(1_000_000))
    text = run(*given).stdout
    assert "counter 'slices'" in text
    assert "counter 'eh'" in text
    assert "resolution: expected a number from 1e-06 to below 1, got 2.0" in run(*given[:-1], "2", code=1).stderr
    for command in ("build", "stream", "monitor"):
        help_text = run(command, "--help").stdout
        assert "--resolution" in help_text
        assert "slices" in help_text


def test_query_and_merge(store):
    sketches = latest(store)
    asked = ("query", store / "store", "/page/1", "/page/2", "--last", "10m", "--json")
    rows = json.loads(run(*asked, "--site", "nice").stdout)
    assert [row["item"] for row in rows] == ["/page/1", "/page/2"]
    assert rows[0]["value"] == sketches["nice"].estimate("/page/1", last=600).value
    facts = json.loads(run("merge", store / "store", "--out", store / "all.ecms", "--json").stdout)
    merged = ecm.load((store / "all.ecms").read_bytes())
    assert merged == ecm.merge(sketches.values())
    assert (facts["sites"], facts["levels"], facts["bytes"]) == (2, 1, len(merged.serialize()))
    for source in (store / "store", store / "all.ecms"):
        (row,) = json.loads(run("query", source, "/page/1", "--json").stdout)
        assert row["value"] == merged.estimate("/page/1").value
    assert "/page/1" in run("query", store / "store", "/page/1").stdout


def test_top_and_quantile_and_inspect(store):
    merged = ecm.merge(latest(store).values())
    rows = json.loads(run("top", store / "store", "-k", "3", "--last", "1h", "--json").stdout)
    assert [(row["item"], row["value"]) for row in rows] == [
        (h.item, h.estimate.value) for h in merged.top(3, last=3600)
    ]
    rows = json.loads(run("top", store / "store", "--phi", "0.1", "--json").stdout)
    assert [row["item"] for row in rows] == [hitter.item for hitter in merged.heavy_hitters(0.1)]
    rows = json.loads(run("quantile", store / "delays.ecms", "0.5", "0.9", "--json").stdout)
    prefix = ecm.load((store / "delays.ecms").read_bytes())
    assert [row["value"] for row in rows] == [prefix.quantile(q).value for q in (0.5, 0.9)]
    rows = json.loads(run("inspect", store / "store", "--json").stdout)
    assert [row["site"] for row in rows] == ["lyon", "nice"]
    facts = json.loads(run("inspect", store / "store", "--site", "nice", "--json").stdout)
    assert (facts["kind"], facts["epsilon"]) == ("EcmSketch", 0.01)
    assert "lyon" in run("inspect", store / "store").stdout


def test_what_is_wrong_is_said_and_the_exit_code_says_which_kind(store, tmp_path):
    (tmp_path / "broken.ecms").write_bytes(b"ECMS nonsense")
    for arguments, code, says in (
        (("query", tmp_path / "nothing", "x"), 1, "there is no such store or file"),
        (("query", tmp_path / "broken.ecms", "x"), 1, "broken.ecms: sketch:"),
        (("query", store / "store", "x", "--site", "rome"), 1, "rome"),
        (("query", store / "all.ecms", "x", "--site", "nice"), 1, "leave --site out"),
        (("query", store / "store", "x", "--last", "2h"), 1, "expected 0 to 3600"),
        (("query", store / "store", "x", "--last", "soon"), 2, "expected a length such as"),
        (("quantile", store / "store", "0.5"), 1, "build them with --bits"),
        (("top", store / "delays.ecms"), 2, "--phi"),
        (("top", store / "store", "--phi", "7"), 1, "share phi above 0"),
        (("plan", "--epsilon", "3"), 1, "epsilon: expected a number"),
        (("plan", "--window", "1.5h"), 2, "expected a length"),
        (("nonsense",), 2, "No such command"),
        (("build", tmp_path, "--store", tmp_path / "s"), 2, "Missing option"),
        (("stream", tmp_path, "--store", tmp_path / "s", "--checkpoint", tmp_path / "c"), 2, "--rate"),
    ):
        done = run(*arguments, code=code)
        assert says in done.stderr, done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_generate(tmp_path):
    facts = json.loads(run("generate", "worldcup98", tmp_path / "log", "--events", "40000", "--json").stdout)
    assert (facts["events"], facts["what"].startswith("generated")) == (40_000, True)
    assert pq.read_table(tmp_path / "log").num_rows == 40_000


def test_a_day_from_end_to_end(tmp_path):
    log = WorldCupLog(40_000)
    (tmp_path / "log").mkdir()
    for index in range(log.slices):
        pq.write_table(pa.table(to_columns(log.slice(index))), tmp_path / "log" / f"{index:03d}.parquet")
    columns = ("--item", "object", "--tick", "timestamp", "--site", "server")
    facts = json.loads(
        run(
            "build",
            tmp_path / "log",
            "--store",
            tmp_path / "s",
            *columns,
            "--epsilon",
            "0.05",
            "--heavy-hitters",
            "--json",
        ).stdout
    )
    assert (facts["events"], facts["rejected"]) == (40_000, 0)
    table = pq.read_table(tmp_path / "log").select(["object", "timestamp"])

    def check_top(store):
        (row,) = json.loads(run("top", store, "-k", "1", "--json").stdout)
        exact = int(pa.compute.sum(pa.compute.equal(table["object"], int(row["item"]))).as_py())
        assert row["lower"] <= exact <= row["upper"]

    check_top(tmp_path / "s")
    live = ("--store", tmp_path / "live", "--checkpoint", tmp_path / "state", *columns, "--epsilon", "0.05", "--once")
    sliced = ("--counter", "slices", "--resolution", "0.2")
    done = run("stream", tmp_path / "log", *live, *sliced, "--heavy-hitters", "--json")
    assert json.loads(done.stdout)["triggers"] >= 1
    assert "40,000 rows" in done.stderr
    assert "rejected: 0" in done.stderr
    check_top(tmp_path / "live")


@pytest.mark.slow
def test_a_generated_stream_until_interrupted(tmp_path):
    places = ("--store", tmp_path / "live", "--checkpoint", tmp_path / "state")
    command = [*COMMAND, "stream", "--rate", "1000", *map(str, places), "--window", "1h"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) as job:
        said = []
        for line in job.stderr:
            said.append(line)
            if "trigger 2" in line:
                job.send_signal(signal.SIGINT)
        assert job.wait(60) == 0
    assert "Traceback" not in "".join(said)
    assert sum(sketch.total().value for sketch in SketchStore(tmp_path / "live").latest().values()) >= 1000


def test_following_a_store_until_interrupted(store):
    command = [*COMMAND, "top", str(store / "store"), "-k", "1", "--follow", "--seconds", "0.2", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as following:
        lines = [json.loads(following.stdout.readline()) for _ in range(3)]
        following.send_signal(signal.SIGINT)
        assert following.wait(30) == 130
    assert lines[0] == lines[2]
    assert lines[0][0]["item"] == ecm.merge(latest(store).values()).top(1)[0].item


def test_items_are_read_as_what_was_counted(tmp_path):
    config = ecm.SketchConfig(epsilon=0.01, delta=0.01, window=1000, heavy_hitters=True)
    for name, items, typed, found in (
        ("texts", ["28487", "28487"], "28487", "28487"),
        ("numbers", [28487, 28487], "28487", 28487),
        ("rows", [("10.0.0.1", 443), ("10.0.0.1", 443)], "10.0.0.1,443", ["10.0.0.1", 443]),
    ):
        sketch = ecm.EcmSketch(config)
        sketch.update_many(items, [1, 2])
        SketchStore(tmp_path / name).append([SketchRow("a", sketch)])
        for command in (("query", str(tmp_path / name), typed), ("top", str(tmp_path / name))):
            (row,) = json.loads(run(*command, "--json").stdout)
            assert (row["item"], row["value"]) == (found, 2)
        assert typed in run("top", str(tmp_path / name)).stdout
    assert "expected integer" in run("query", str(tmp_path / "numbers"), "/index.html", code=1).stderr


def test_the_version_says_for_which_processor_it_is_compiled():
    from typer.testing import CliRunner

    from ecmsketch.cli.app import app

    short, long = (CliRunner().invoke(app, words) for words in (["--version"], ["--version", "--verbose"]))
    assert (short.output.strip(), short.exit_code) == (f"ecmsketch {ecm.__version__}", 0)
    assert long.output.startswith(short.output)
    assert "compiled for x86-64-v" in long.output or "one build" in long.output
