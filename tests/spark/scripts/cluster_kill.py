"""An executor is killed with signal 9 in the midst of a build: once from a DataFrame, once from files.

Nothing is left to chance: a task of the DataFrame says when it is in its midst, and waits there until the executor is
dead; of the files, the executor is killed while one of its workers has a file open.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import cloudpickle
from script_tools import sketches

import ecmsketch as ecm
from ecmsketch import spark as ecm_spark
from ecmsketch.spark.partials import GATHERED

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it

PARTS, BATCHES, ROWS = 4, 6, 100_000
WAITS = 2
"""The part that waits: its executor has finished another before."""
FILES, BATCHES_IN_FILE = 2, GATHERED // ROWS + 2
"""So large that a worker begins to feed sketches while the file is open."""
PATIENCE = 40
EXECUTOR = "CoarseGrainedExecutorBackend"


def make_batch(part: int, batch: int) -> pa.RecordBatch:
    """Events of three sites; parts and batches follow each other in time."""
    rng = np.random.default_rng([part, batch])
    begin = (part * BATCHES_IN_FILE + batch) * ROWS
    columns = (rng.integers(0, 3, ROWS), rng.integers(0, 70, ROWS) ** 2, np.arange(begin, begin + ROWS))
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names=["site", "item", "tick"])


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        yield pid
        pid = parent_of(pid)


def executor_of(worker: int) -> int:
    """The executor, a child of this driver's JVM, that a Python worker works for."""
    line = list(ancestors(worker))
    assert os.getpid() in line, "not a process of this script's"
    (found,) = (pid for pid in line if EXECUTOR in Path(f"/proc/{pid}/cmdline").read_text())
    return found


def gated_events(spark: Any, notes: Path) -> Any:
    """Every part notes its worker when it begins; part WAITS waits before its last batch until it may go on."""

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for ids in batches:
            for part in ids.column("id").to_pylist():
                (notes / f"part-{part}-{os.getpid()}-{time.time_ns()}").touch()
                for batch in range(BATCHES):
                    if part == WAITS and batch == BATCHES - 1:
                        note(notes / "waiting", str(os.getpid()))
                        until((notes / "go on").exists)
                    yield make_batch(part, batch)

    def note(path: Path, words: str) -> None:
        path.with_suffix(".new").write_text(words)
        path.with_suffix(".new").rename(path)

    def until(happened: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < end, "waited for too long"
            time.sleep(0.01)

    return spark.range(0, PARTS, 1, PARTS).mapInArrow(make, "site bigint, item bigint, tick bigint")


def kill_executor(worker: int, job: Future[Any]) -> None:
    """Kill the executor of a worker, see that it is dead, and that the job was not yet done."""
    executor = executor_of(worker)
    os.kill(executor, signal.SIGKILL)
    wait_for(lambda: is_dead(executor), job)
    assert not job.done(), "the job was done before the executor died"


def is_dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_for(look: Callable[[], Any], job: Future[Any]) -> Any:
    """What `look` finds at last; an error if the job ends before."""
    end = time.monotonic() + PATIENCE
    while not (found := look()):
        assert not job.done(), f"the job ended too early: {job.exception() or 'all is done'}"
        assert time.monotonic() < end, "waited for too long"
        time.sleep(0.002)
    return found


def reader_of(folder: Path) -> int | None:
    """A Python worker of ours that has a file of the folder open now."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            files = [os.readlink(file) for file in (process / "fd").iterdir()]
            if any(file.startswith(f"{folder}/") for file in files) and os.getpid() in ancestors(int(process.name)):
                return None if int(process.name) == os.getpid() else int(process.name)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return None


def lost_tasks(spark: Any, jobs: set[int]) -> int:
    tracker = spark.sparkContext.statusTracker()
    stages = {stage for job in jobs if (info := tracker.getJobInfo(job)) for stage in info.stageIds}
    return sum(info.numFailedTasks for stage in stages if (info := tracker.getStageInfo(stage)))


def kill_in_frame(spark: Any, config: ecm.SketchConfig, folder: Path, pool: ThreadPoolExecutor) -> dict[str, Any]:
    def build(notes: Path) -> dict[str, str]:
        return sketches(ecm_spark.build_sketches(gated_events(spark, notes), config, "item", "tick", "site"))

    quiet, notes = folder / "quiet", folder / "notes"
    for new in (quiet, notes):
        new.mkdir()
    (quiet / "go on").touch()
    undisturbed = build(quiet)
    job = pool.submit(build, notes)
    waiting = notes / "waiting"
    wait_for(waiting.exists, job)
    before = begun(notes)
    kill_executor(int(waiting.read_text()), job)
    (notes / "go on").touch()
    killed = job.result(PATIENCE)
    return {"undisturbed": undisturbed, "killed": killed, "begun before": before, "begun": begun(notes)}


def begun(notes: Path) -> list[int]:
    """Which parts were begun, in order."""
    return sorted(int(note.name.split("-")[1]) for note in notes.glob("part-*"))


def kill_in_files(spark: Any, config: ecm.SketchConfig, folder: Path, pool: ThreadPoolExecutor) -> dict[str, Any]:
    log = folder / "log"
    log.mkdir()
    for part in range(FILES):
        table = pa.Table.from_batches([make_batch(part, batch) for batch in range(BATCHES_IN_FILE)])
        pq.write_table(table, log / f"part-{part}.parquet")

    def build() -> dict[str, str]:
        columns = ("item", "tick", "site")
        return sketches(ecm_spark.build_sketches_from_files(spark, str(log), config, *columns, tasks=FILES))

    tracker = spark.sparkContext.statusTracker()
    undisturbed = build()
    earlier = set(tracker.getJobIdsForGroup())
    job = pool.submit(build)
    kill_executor(wait_for(lambda: reader_of(log), job), job)
    killed = job.result(PATIENCE)
    lost = lost_tasks(spark, set(tracker.getJobIdsForGroup()) - earlier)
    return {"undisturbed": undisturbed, "killed": killed, "lost tasks": lost}


def run(spark: Any, folder: str) -> dict[str, Any]:
    config = ecm.SketchConfig(epsilon=0.05, delta=0.05, window=10**7)
    with ThreadPoolExecutor(1) as pool:
        return {
            "killed in a frame": kill_in_frame(spark, config, Path(folder), pool),
            "killed in files": kill_in_files(spark, config, Path(folder), pool),
        }
