"""A store of many small sites: time, memory and bytes of writing, of one site, of each site, and of all sites merged.

python -m benchmarks.many_sites_store [SITES ...]
"""

from __future__ import annotations

import resource
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np

import ecmsketch as ecm
from benchmarks.table import Row, show
from ecmsketch.store import SketchRow, SketchStore

CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=86_400)
EVENTS = 50
WRITER = "many_sites_store"


def small_sketches(sites: int, kinds: int = 10_000, begin: int = 0) -> list[bytes]:
    """The bytes of sketches of EVENTS events, so many kinds of them at most.

    Sites that share one lie too far apart for the compression of files to notice.
    """
    rng = np.random.default_rng(begin)
    made = []
    for _ in range(min(sites, kinds)):
        sketch = ecm.EcmSketch(CONFIG)
        sketch.update_many(rng.zipf(1.3, EVENTS).clip(0, 10**9), np.sort(rng.integers(begin, begin + 40_000, EVENTS)))
        made.append(sketch.serialize())
    return made


def rows_of(numbers: np.ndarray, sketches: list[bytes]) -> Iterator[SketchRow]:
    for number in numbers:
        yield SketchRow(f"site-{number:07d}", sketches[number % len(sketches)], EVENTS, "snapshot")


def build(path: Path, sites: int) -> dict[str, float]:
    """Write one snapshot of every site in one commit."""
    sketches = small_sketches(sites)
    store = SketchStore(path)
    seconds = timed(lambda: store.append_once(rows_of(np.arange(sites), sketches), WRITER, 0, own=True))
    return {"write_seconds": seconds, "bytes_per_site": bytes_in(path) / sites}


def trigger(path: Path, sites: int, changed: int, triggers: int, first: int = 1) -> dict[str, float]:
    """Write triggers with snapshots of some sites each, as a stream does; the slowest also puts files together."""
    rng = np.random.default_rng(first)
    sketches = small_sketches(changed, begin=40_000)
    store = SketchStore(path)
    seconds = []
    for batch in range(first, first + triggers):
        rows = list(rows_of(rng.choice(sites, changed, replace=False), sketches))
        seconds.append(timed(lambda rows=rows, batch=batch: store.append_once(rows, WRITER, batch, own=True)))
    return {"trigger_seconds": float(np.median(seconds)), "slowest_trigger_seconds": max(seconds)}


def one_site(path: Path, sites: int, asked: int = 20) -> dict[str, float]:
    """Read single sites; each time the store is opened anew."""
    names = [f"site-{number:07d}" for number in np.random.default_rng(5).integers(0, sites, asked)]
    seconds = [timed(lambda name=name: SketchStore(path).latest(name)) for name in names]
    return {"one_site_first_ms": 1000 * seconds[0], "one_site_ms": 1000 * float(np.median(seconds[1:]))}


def each_site(path: Path) -> dict[str, float]:
    """Read the sketch of each site, one after the other, and keep none."""
    before = peak_megabytes()
    begin = perf_counter()
    count = sum(1 for _ in SketchStore(path).latest_each())
    return {"each_seconds": perf_counter() - begin, "each_sites": count, "each_more_mb": peak_megabytes() - before}


def all_sites(path: Path, changed_one: bool = True) -> dict[str, float]:
    """Ask about all sites: the first time, from what is kept, and once one site has changed."""
    store = SketchStore(path)
    found = {"all_first_seconds": timed(store.everywhere), "all_kept_seconds": timed(store.everywhere)}
    if changed_one:
        store.append([SketchRow(store.sites()[0], small_sketches(1, begin=80_000)[0], EVENTS, "snapshot")])
        found["all_one_changed_seconds"] = timed(store.everywhere)
    return found


def names_and_version(path: Path) -> dict[str, float]:
    store = SketchStore(path)
    return {"sites_seconds": timed(store.sites), "version_ms": 1000 * timed(store.version)}


def opening(path: Path, commits: int = 1000) -> dict[str, float]:
    """Open a store after many commits of one row."""
    sketches = small_sketches(1)
    store = SketchStore(path)
    first = timed(lambda: store.append_once(rows_of(np.arange(1), sketches), WRITER, 0, own=True))
    early = float(np.median([timed(store.version) for _ in range(9)]))
    seconds = [
        timed(lambda batch=batch: store.append_once(rows_of(np.arange(1), sketches), WRITER, batch, own=True))
        for batch in range(1, commits)
    ]
    late = float(np.median([timed(store.version) for _ in range(9)]))
    return {
        "first_commit_ms": 1000 * first, "commit_ms": 1000 * float(np.median(seconds)),
        "open_early_ms": 1000 * early, "open_late_ms": 1000 * late,
    }  # fmt: skip


def timed(act) -> float:
    begin = perf_counter()
    act()
    return perf_counter() - begin


def bytes_in(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(sites: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        return {
            **build(path, sites), **one_site(path, sites), **each_site(path), **all_sites(path),
            **names_and_version(path),
        }  # fmt: skip


def run(counts: tuple[int, ...] = (1000, 10_000, 100_000)) -> None:
    for count in counts:
        show(f"a store of {count:,} sites", [Row(name, f"{value:.4g}") for name, value in measure(count).items()])


if __name__ == "__main__":
    run(tuple(map(int, sys.argv[1:])) or (1000, 10_000, 100_000))
