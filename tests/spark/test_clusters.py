"""Other ways to run Spark than local[2]: two executors, one of them killed, and Spark Connect.

A process has one JVM, so each runs as a script of its own, which prints what it found.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

import ecmsketch as ecm
from ecmsketch import worldcup98
from ecmsketch.generate import WorldCupLog

pytestmark = pytest.mark.slow  # two minutes of starting Spark
SCRIPTS = Path(__file__).parent / "scripts"
SITES = ("athens", "berlin", "cairo")
WINDOW = 20_000
CONFIG = {"epsilon": 0.05, "delta": 0.05, "window": WINDOW, "merge_depth": 1}
WAVES = {"epsilon": 0.2, "delta": 0.05, "window": WINDOW, "counter": "rw"}
NAMED = {**CONFIG, "heavy_hitters": True}


def run_script(name, folder, arguments, **more):
    """What a script prints. However it ends, none of its processes is left."""
    with (folder / "stdout").open("w+") as stdout, (folder / "stderr").open("w+") as stderr:
        script = subprocess.Popen(
            [sys.executable, str(SCRIPTS / name), json.dumps(arguments)],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env=make_environment(folder, **more),
            start_new_session=True,
        )
        try:
            code = script.wait(180)
            wait_until(lambda: not in_session(script.pid), 10)  # the JVM removes its files
        except subprocess.TimeoutExpired:
            code = "none; it was stopped"
        finally:
            end_session(script)
        if code != 0:
            stderr.seek(0)
            pytest.fail(f"{name}: exit code {code}\n{stderr.read()[-6000:]}")
        stdout.seek(0)
        return json.loads(stdout.read())


def make_environment(folder, **more):
    """Nothing of this process's Spark; everything that is written goes below the folder."""
    home, temporary = folder / "home", folder / "tmp"  # executors write into their home
    home.mkdir()
    temporary.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))},
        "TMPDIR": str(temporary),
        "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={temporary}",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        **more,
    }


def end_session(script):
    """Kill what the script started and is still there. Python's workers have groups of their own, so go by session."""

    def kill():
        left = in_session(script.pid)
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        script.poll()
        return not left

    assert wait_until(kill, 30), f"processes {in_session(script.pid)} do not end"


def wait_until(happened, seconds):
    end = time.monotonic() + seconds
    while not (done := happened()) and time.monotonic() < end:
        time.sleep(0.02)
    return done


def in_session(session):
    """The processes of a session, without the dead ones."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its_session = stat.read_text().rsplit(")", 1)[1].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(its_session) == session and state not in "ZX":
            found.append(int(stat.parent.name))
    return found


def bytes_of(text):
    return base64.b64decode(text)


def load(text):
    return ecm.load(bytes_of(text))


@pytest.fixture(scope="module")
def one_file(tmp_path_factory, stream):
    path = tmp_path_factory.mktemp("one file") / "log.parquet"
    pq.write_table(pa.table(stream), path)
    return path


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, log, one_file):
    folder = tmp_path_factory.mktemp("cluster")
    arguments = {"folder": str(folder), "log": str(log), "one_file": str(one_file), "config": CONFIG, "waves": WAVES}
    return run_script("cluster.py", folder, arguments)


@pytest.fixture(scope="module")
def connect(tmp_path_factory, log, one_file):
    folder = tmp_path_factory.mktemp("connect")
    arguments = {"folder": str(folder), "log": str(log), "one_file": str(one_file), "config": NAMED}
    return run_script("connect.py", folder, arguments, SPARK_TESTING="1")  # the server takes any free port


class TestTwoExecutors:
    def test_a_site_in_one_task_gives_the_very_sketch_of_one_process(self, cluster, one_process):
        builds = cluster["builds"]
        assert builds["executors"] == 2
        for case, config in (("one task", CONFIG), ("one task, random", WAVES), ("files, one task", CONFIG)):
            assert sorted(builds[case]) == list(SITES)
            for site in SITES:
                expected = one_process(ecm.SketchConfig(**config), site, name=f"{site}/0/0")
                assert bytes_of(builds[case][site]) == expected.serialize()

    @pytest.mark.parametrize("case", ["cut by time", "files"])
    def test_a_stream_cut_by_time_adds_no_error(self, cluster, check, case):
        for site in SITES:
            sketch = load(cluster["builds"][case][site])
            assert sketch.merge_levels == 0
            check(sketch, site)

    def test_shuffled_events_stay_within_what_is_carried(self, cluster, check):
        for site in SITES:
            sketch = load(cluster["builds"]["shuffled"][site])
            assert sketch.merge_levels == 1
            assert sketch.epsilon <= CONFIG["epsilon"] + 1e-12
            check(sketch, site)

    def test_merging(self, cluster, check):
        sketches = [load(cluster["builds"]["one task"][site]) for site in SITES]
        merged = load(cluster["builds"]["merged"])
        assert merged == ecm.merge(sketches)
        check(merged)
        pairs = load(cluster["builds"]["merged in pairs"])
        assert pairs == ecm.merge(sketches, method="binary")
        assert pairs.merge_levels == 2


class TestAKilledExecutor:
    def test_building_from_a_frame(self, cluster):
        found = cluster["killed in a frame"]
        assert found["killed"] == found["undisturbed"]
        assert sum(load(text).total().value for text in found["killed"].values()) == pytest.approx(2.4e6, rel=0.05)
        begun = found["begun"]
        assert begun.count(2) >= 2  # the part that the executor was at
        assert begun.count(0) + begun.count(1) >= 3  # and what it had finished, which was lost with it

    def test_building_from_files(self, cluster):
        found = cluster["killed in files"]
        assert found["killed"] == found["undisturbed"]
        assert sum(load(text).total().value for text in found["killed"].values()) > 4e6
        assert found["lost tasks"] >= 1


class TestConnect:
    def test_building(self, connect, one_process, check):
        assert connect["session"].startswith("pyspark.sql.connect")
        assert connect["bytes of a batch"] == str(2**31 - 1)
        for site in SITES:
            expected = one_process(ecm.SketchConfig(**NAMED), site).serialize()
            assert bytes_of(connect["one task"][site]) == expected
            assert bytes_of(connect["files, one task"][site]) == expected
            for case in ("cut by time", "files"):
                assert load(connect[case][site]).merge_levels == 0
                check(load(connect[case][site]), site)

    def test_merging(self, connect):
        sketches = [load(connect["files, one task"][site]) for site in SITES]
        assert load(connect["merged in pairs"]) == ecm.merge(sketches, method="binary")
        assert connect["levels"] == 2

    def test_sql(self, connect):
        sketches = [load(connect["files, one task"][site]) for site in SITES]
        assert connect["estimates"] == [
            [site, sketch.estimate("/page/1").value, sketch.estimate("/page/1", last=1000).value]
            for site, sketch in zip(SITES, sketches, strict=True)
        ]
        assert load(connect["union"]).estimate("/page/1") == ecm.merge(sketches).estimate("/page/1")
        assert connect["heavy hitters"] == [
            [site, hitter.item, hitter.estimate.value]
            for site, sketch in zip(SITES, sketches, strict=True)
            for hitter in sketch.heavy_hitters(0.05)
        ]

    def test_generated_logs_and_the_source_that_reads_them(self, connect):
        log = WorldCupLog(20_000, seed=3)
        columns = worldcup98.to_columns(np.concatenate([log.slice(i) for i in range(log.slices)]))
        sums = [int(columns[name].sum()) for name in ("timestamp", "client", "object", "size")]
        assert connect["written"] == 20_000
        assert connect["read"] == [20_000, *sums]

    def test_a_new_checkpoint_is_written_anew(self, connect):
        assert connect["failed"] == [None] * 4
        assert connect["once"] == [["web", 1, 0]]
        assert connect["anew"] == [["web", 1, 0], ["web", 2, 0]]
        assert connect["beside"] == [["mail", 1, 0], ["web", 1, 0], ["web", 2, 0]]
        assert connect["total"] == 2 * load(connect["files, one task"]["athens"]).total().value

    def test_a_query_that_was_renamed_is_refused(self, connect):
        assert "name: expected one query called 'other'" in connect["renamed"]

    @pytest.mark.parametrize(
        ("case", "says"),
        [
            ("broken", "FormatError: sketch: expected at least"),
            ("unequal", "MergeError: sketches with different configs cannot be merged: seed is"),
            ("cut", "InputError: "),
            ("sql", "FormatError: row 0 of a batch of sketches"),
            ("missing", "InputError: "),
        ],
    )
    def test_errors_of_workers_come_back_by_their_names(self, connect, case, says):
        assert connect["errors"][case].startswith(says)
        assert "\n" not in connect["errors"][case]
