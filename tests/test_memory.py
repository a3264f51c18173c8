"""`nbytes` counts all that a sketch holds: it is compared with the heap, before and after feeding and asking."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

HEAP = r"""
import ctypes, gc, json, sys
import numpy as np
import ecmsketch as ecm

class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd a b uordblks c d".split()]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Info

def heap():
    gc.collect()
    info = libc.mallinfo2()
    return info.uordblks + info.hblkhd

def feed(sketch, events):
    rng = np.random.default_rng(1)
    for at in range(0, events, 1000):
        sketch.update_many(rng.zipf(1.2, 1000) % 100_000, np.arange(at, at + 1000))

def ask(sketch):
    sketch.estimate(5)
    sketch.estimate_many(np.arange(1000))
    sketch.history(3, 50_000)
    sketch.total(last=5000)
    sketch.estimate(1, last=777)

fields, events, count = json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
config = ecm.SketchConfig(**fields)
warm = ecm.EcmSketch(config)
feed(warm, min(events, 300_000)), ask(warm)
del warm
found = []
for stage in (1, 2, 3):  # what is given back when a sketch goes is what it held
    sketches = [ecm.EcmSketch(config) for _ in range(count)]
    for sketch in sketches:
        feed(sketch, events) if count == 1 else sketch.update_many(np.arange(5), np.full(5, 7))
        if stage > 1:
            ask(sketch) if count == 1 else sketch.estimate(3)
        if stage > 2:
            sketch.update_many([1], [events])
    said, before = sum(sketch.nbytes for sketch in sketches), heap()
    del sketches, sketch
    found.append((before - heap(), said))
print(json.dumps(found))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks glibc how much memory is in use")
@pytest.mark.parametrize(
    ("fields", "events", "count"),
    [
        ({"epsilon": 0.1, "delta": 0.05, "window": 10**6, "resolution": 0.1}, 1_000_000, 1),
        ({"epsilon": 0.005, "delta": 0.01, "window": 10**6}, 2_000_000, 1),
        ({"epsilon": 0.02, "delta": 0.05, "window": 10**6, "heavy_hitters": True}, 500_000, 1),
        ({"epsilon": 0.02, "delta": 0.05, "window": 10**6, "counter": "eh"}, 500_000, 1),
        ({"epsilon": 0.01, "delta": 0.01, "window": 10**6, "resolution": 0.1}, 1000, 10_000),
    ],
    ids=["small", "large", "names", "eh", "many"],
)
def test_nbytes_is_what_the_heap_holds(fields, events, count):
    found = subprocess.run(
        [sys.executable, "-c", HEAP, json.dumps(fields), str(events), str(count)],
        env={**os.environ, "PYTHONMALLOC": "malloc"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for held, said in json.loads(found.stdout):
        assert 0.8 * held < said < 1.2 * held + 4096, found.stdout


@pytest.mark.parametrize("counter", ["slices", "eh"])
def test_what_waits_takes_64_kb_or_a_quarter_of_the_state(counter):
    import numpy as np

    import ecmsketch as ecm

    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.05, delta=0.1, window=10**6, counter=counter))
    most = 0
    for at in range(0, 200_000, 500):
        sketch.update_many(np.arange(500) % 77, np.arange(at, at + 500))
        allowed = max(64 * 1024, sketch._engine.state_nbytes / 4)
        assert sketch._waiting_nbytes <= allowed + 16
        most = max(most, sketch._waiting_nbytes)
    assert most >= 32 * 1024


def test_what_is_remembered_takes_no_more_than_the_state():
    import numpy as np

    import ecmsketch as ecm

    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.05, delta=0.1, window=10**6, resolution=0.1))
    sketch.update_many(np.arange(10**6) % 999, np.arange(10**6))
    for last in range(1000, 10**6, 10_000):
        sketch.estimate(5, last=last)
        sketch.estimate_many([5, 6], last=last + 1)
    state = sketch._engine.state_nbytes
    assert sketch.nbytes <= 2 * state + 16 * 1024 + 8192
