"""Threads that share a sketch: every count arrives, every answer is right, nothing hangs.

Each scenario runs in a process of its own, so that a crash or a hang there is a failed test here.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

COMMON = '''
import copy, os, pickle, sys, threading, time
import ecmsketch as ecm
from ecmsketch.sketch.merging import unite

sys.setswitchinterval(1e-5)

def config(**changes):
    return ecm.SketchConfig(**{"epsilon": 0.1, "delta": 0.1, "window": 10**6, "late": "side", **changes})

def run(*works):
    """All at once; the first error of any of them is raised."""
    errors = []
    def guarded(work):
        try:
            work()
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    if errors: raise errors[0]
'''


def in_a_process(body: str, timeout: int = 300) -> None:
    source = str(Path(__file__).parent.parent / "src")
    script = f"import sys; sys.path.insert(0, {source!r})\n{COMMON}\n{dedent(body)}"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=timeout)
    assert result.returncode == 0, f"exit {result.returncode}: {result.stderr[-3000:]}"


LOAD = """
kind, changes = {kind!r}, {changes!r}
new = (lambda: ecm.PrefixSketch(config(**changes), bits=16)) if kind == "prefix" else (
    lambda: ecm.EcmSketch(config(**changes)))
sketch, elsewhere = new(), new()
counted = changes.get("model") == "count"
names = changes.get("heavy_hitters", False)
for each in (sketch, elsewhere):
    each.update(1, None if counted else 0)
SINGLE, BULK, ROUNDS = 400, 30, 2
done = threading.Event()
total = 1 + ROUNDS * 2 * (2 * SINGLE + BULK * 25)

def one_by_one():
    for n in range(ROUNDS):
        for i in range(SINGLE):
            sketch.update(i % 50, None if counted else n * SINGLE + i, 1 + 2 * (i % 2))

def in_bulk():
    for n in range(ROUNDS):
        for i in range(BULK):
            sketch.update_many(list(range(25)), None if counted else [n * SINGLE + i] * 25)

def read():
    while not done.is_set():
        before = sketch.total().upper
        assert sketch.total(last=10**5).lower <= total
        assert sketch.total().upper >= before
        found = sketch.estimate(7)
        assert found.lower <= found.value <= found.upper
        assert found.lower <= total
        if names:
            sketch.heavy_hitters(0.5), sketch.top(3)
        if kind == "prefix":
            sketch.quantile(0.5), sketch.range_sum(3, 900)
        if not counted:
            sketch.history(7, 10**5)
        repr(sketch), sketch.nbytes, sketch.bucket_count, sketch.now, sketch.is_empty

def take():
    while not done.is_set():
        other = pickle.loads(pickle.dumps(sketch))
        assert other.total().lower <= total
        assert type(sketch).deserialize(sketch.serialize()).now is not None
        copied = copy.deepcopy(sketch)
        sketch == copied
        if not counted:
            ecm.merge([sketch, elsewhere]), ecm.merge([elsewhere, sketch]), unite([elsewhere, sketch])

def write():
    run(one_by_one, one_by_one, in_bulk, in_bulk)
    done.set()

def stop_after(work):
    try:
        work()
    except BaseException:
        done.set()
        raise

run(lambda: stop_after(write), lambda: stop_after(read), lambda: stop_after(take))
assert sketch.late_dropped == 0
assert sketch.total().covers(total), (sketch.total(), total)
if counted:
    assert sketch.now == total, (sketch.now, total)
single = {{i: sum(1 + 2 * (j % 2) for j in range(SINGLE) if j % 50 == i) for i in range(50)}}
for item in range(50):
    exact = 2 * ROUNDS * (single[item] + (BULK if item < 25 else 0)) + (item == 1)
    sure = {{}} if kind == "prefix" or sketch.config.counter == "rw" else {{"confidence": 1 - 1e-9}}
    assert sketch.estimate(item, **sure).covers(exact), (item, sketch.estimate(item, **sure), exact)
assert type(sketch).deserialize(sketch.serialize()) == sketch
"""


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("items", {"counter": "eh", "heavy_hitters": True}),
        ("items", {"counter": "dw"}),
        ("items", {"counter": "rw", "epsilon": 0.3, "wave_constant": 60.0}),
        ("items", {"model": "count"}),
        ("prefix", {"counter": "eh"}),
        ("items", {"counter": "slices", "heavy_hitters": True}),
        ("items", {"counter": "slices", "model": "count"}),
    ],
    ids=["names", "dw", "rw", "count", "prefix", "slices", "slices-count"],
)
def test_counts_and_answers_are_right_under_load(kind, changes):
    in_a_process(LOAD.format(kind=kind, changes=changes))


def test_two_sketches_used_by_two_threads_in_opposite_order():
    in_a_process("""
        a, b = (ecm.EcmSketch(config()) for _ in range(2))
        for sketch in (a, b):
            sketch.update_many([1, 2, 3], [1, 2, 3])
        def both(one, other):
            for i in range(100):
                assert one.inner_product(other).value == 3
                assert ecm.merge([one, other]).total().value == 6
                assert one == other
                one.advance(3)
        run(lambda: both(a, b), lambda: both(b, a), lambda: both(a, a.copy()))
    """)


def test_items_that_ask_another_sketch_do_not_deadlock():
    in_a_process("""
        a, b = (ecm.EcmSketch(config(heavy_hitters=True)) for _ in range(2))
        def items(other):
            for i in range(20):
                other.update(i, 0)
                yield i
        def feed(one, other):
            for i in range(50):
                one.update_many(items(other), [0] * 20)
                one.estimate_many(items(other))
        run(lambda: feed(a, b), lambda: feed(b, a))
        assert a.total().value == b.total().value == 50 * 20 * 3
    """)


def test_a_tick_behind_the_clock_is_told_to_the_thread_that_gave_it():
    in_a_process("""
        sketch = ecm.EcmSketch(config(late="raise"))
        ticks, refused, lock = iter(range(20_000)), [0], threading.Lock()
        def feed():
            for tick in ticks_of():
                try:
                    sketch.update("a", tick)
                except ecm.errors.LateArrivalError:
                    with lock:
                        refused[0] += 1
        def ticks_of():
            while True:
                with lock:
                    tick = next(ticks, None)
                if tick is None:
                    return
                yield tick
        run(feed, feed, feed)
        assert sketch.total(last=10**5).covers(20_000 - refused[0])
        assert sketch.estimate("a").covers(20_000 - refused[0])
    """)


@pytest.mark.skipif(not hasattr(sys.modules["os"], "fork"), reason="there is no fork here")
def test_a_child_process_forked_under_load_has_whole_sketches():
    in_a_process("""
        import warnings
        warnings.simplefilter("ignore")
        a, b = (ecm.EcmSketch(config(window=1000)) for _ in range(2))
        done = threading.Event()
        def feed():
            tick = 0
            while not done.is_set():
                tick += 1
                a.update(tick % 100, tick)
                b.update_many(list(range(100)), [tick] * 100)
                ecm.merge([a, b]), a.copy()
        def forks():
            try:
                for _ in range(10):
                    child = os.fork()
                    if not child:
                        try:
                            data = a.serialize() + b.serialize()
                            a.update(5, 10**6), b.update(5, 10**6)
                            assert ecm.EcmSketch.deserialize(b.serialize()).estimate(5).lower >= 1
                            os._exit(0)
                        finally:
                            os._exit(1)
                    end = time.monotonic() + 30
                    while not (status := os.waitpid(child, os.WNOHANG))[0]:
                        assert time.monotonic() < end, "the child hangs"
                        time.sleep(0.001)
                    assert status[1] == 0, status
            finally:
                done.set()
        a.update_many([1], [0]), b.update_many(list(range(3000)), [0] * 3000)
        ecm.EcmSketch.deserialize(ecm.merge([a, b.copy()]).serialize()).estimate(5)  # kernels are compiled before
        run(forks, feed)
    """)
