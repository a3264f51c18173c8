"""Defects of the version before compiled engines, each shown through public names alone, as its users saw it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

import ecmsketch as ecm
from ecmsketch.errors import FormatError
from hand_written import config_bytes, sketch_bytes, state_bytes, varint

COUNTERS = ("slices", "eh", "dw", "rw")
PATIENCE = 300


def child(program, *arguments, **settings):
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **settings},
    )  # fmt: skip


def end_of(process):
    """(Code, what was written, what went wrong) of a process that must end."""
    try:
        out, error = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        pytest.fail(f"the process did not end within {PATIENCE} s")
    return process.returncode, out, error.strip()[-300:]


# 1. Bytes whose ticks wrap past 2^63 were accepted


def bytes_with_gaps(gaps, now):
    """Events of sixteen items, so many ticks apart, newest first (docs/format.md)."""
    items = bytes((0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF)) * (len(gaps) // 16)
    counters = b"".join(map(varint, [len(gaps), 0, 0, 0, *gaps])) + b"\x04" + items
    config = config_bytes(epsilon=0.1, delta=0.1, window=1000, counter="slices", late="side")
    state = state_bytes(flags=7, now=now, origin=now, kinds=1, sizes=(len(counters),))
    return sketch_bytes(config, state, b"i" + counters)


def test_bytes_whose_ticks_wrap_are_refused():
    good = ecm.EcmSketch.deserialize(bytes_with_gaps([5, 5] + [0] * 30, -1))
    assert good.total() == (32, 32, 32, 1)
    for now in (-1, 0, 9):
        for gaps in (
            [2**62, 2**62],
            [2**62, 2**62 - 1],
            [2**62] * 3,
            [2**62] * 4,
            [2**63 - 1, 1],
            [2**61, 2**62, 2**61],
        ):
            with pytest.raises(FormatError):
                ecm.EcmSketch.deserialize(bytes_with_gaps(gaps + [0] * (32 - len(gaps)), now))


# 2. Ctrl-C while batches were counted: a crash, or a sketch that counts wrongly for ever after

COUNTING = r"""
import sys, time, json, numpy as np, ecmsketch as ecm
counter, batch, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(seed); n0, n1, names = 50_000, 1_000_000, 1000
items, ticks = rng.integers(0, names, n0 + n1), np.arange(n0 + n1)
config = ecm.SketchConfig(epsilon=0.02, delta=0.01, window=10**9, counter=counter)
def fill(s, begin):
    for at in range(begin, n0 + n1, batch): s.update_many(items[at:at + batch], ticks[at:at + batch])
    s.total()
def start():
    s = ecm.EcmSketch(config); s.update_many(items[:n0], ticks[:n0]); s.total(); return s
warm = start(); fill(warm, n0); warm.estimate_many(np.arange(names))
s = start(); t = time.perf_counter(); fill(s, n0); took = time.perf_counter() - t
s = start(); print(took, flush=True); sys.stdin.readline()
stopped = False
try:
    print("go", flush=True); fill(s, n0)
except KeyboardInterrupt: stopped = True
if not stopped:
    try: time.sleep(30)
    except KeyboardInterrupt: pass
total, known = s.total(), s.now + 1                                    # one arrival on every tick from 0 on
counts = np.bincount(items[:known], minlength=names)
low = int((np.asarray(s.estimate_many(np.arange(names)).upper) < counts).sum())
s.update_many(items[known:], ticks[known:])
print(json.dumps({"stopped": stopped, "known": known, "counted": total.value, "right": total.covers(known),
                  "low": low, "end": s.total().covers(n0 + n1)}), flush=True)
"""


def interrupt_counting(counter, batch, run):
    process = child(COUNTING, counter, batch, run)
    took = float(process.stdout.readline() or 0)
    process.stdin.write("\n")
    process.stdin.flush()
    process.stdout.readline()
    time.sleep(took * random.Random(run).uniform(0.02, 0.9))
    process.send_signal(signal.SIGINT)
    code, out, error = end_of(process)
    assert code == 0, f"code {code} after an interrupt: {error}"
    found = json.loads(out.splitlines()[-1])
    assert found["right"], found
    assert found["low"] == 0, f"{found['low']} upper bounds are below the truth"
    assert found["end"], found


@pytest.mark.parametrize("batch", [1000, 1_000_000])
@pytest.mark.parametrize("counter", ["slices", "eh"])
def test_an_interrupt_while_counting(counter, batch):
    interrupt_counting(counter, batch, 0)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1000, 100_000, 1_000_000])
@pytest.mark.parametrize("counter", ["slices", "eh", "dw"])
def test_interrupts_while_counting(counter, batch):
    for run in range(10):
        interrupt_counting(counter, batch, 100 + run)


# 3. Ctrl-C while questions were asked: a crash, or a SystemError

ASKING = r"""
import sys, numpy as np, ecmsketch as ecm
counter, what = sys.argv[1:]
rng = np.random.default_rng(1); n = 100_000
config = ecm.SketchConfig(epsilon=0.02, delta=0.01, window=10**9, counter=counter, heavy_hitters=True)
s = ecm.EcmSketch(config); s.update_many(rng.zipf(1.3, n) % 5000, np.arange(n)); blob = s.serialize()
calls = dict(estimate=lambda i: s.estimate(i % 1000, last=20_000 + i % 70_000),
             top=lambda i: s.top(10, last=20_000 + i % 70_000),
             history=lambda i: s.history(7, 1000, last=100_000), merge=lambda i: ecm.merge([s, s]),
             deserialize=lambda i: ecm.EcmSketch.deserialize(blob), serialize=lambda i: s.serialize())
call = calls[what]; call(0); call(1); print("ready", flush=True)
def ask():  # a function of its own: Python 3.11 may raise an interrupt just before the `try` around a loop
    i = 0
    while True: call(i); i += 1
try: ask()
except KeyboardInterrupt: print("stopped", flush=True)
call(3); print(s.serialize() == blob)
"""


def interrupt_asking(counter, what, run):
    process = child(ASKING, counter, what)
    process.stdout.readline()
    time.sleep(random.Random(run).uniform(0.01, 0.1))
    process.send_signal(signal.SIGINT)
    code, out, error = end_of(process)
    assert code == 0, f"code {code} after an interrupt: {error}"
    assert out.split() == ["stopped", "True"]


QUESTIONS = ("estimate", "top", "history", "merge", "deserialize", "serialize")


@pytest.mark.parametrize("what", QUESTIONS)
def test_an_interrupt_while_asking(what):
    interrupt_asking("slices", what, 0)


@pytest.mark.slow
@pytest.mark.parametrize("what", QUESTIONS)
@pytest.mark.parametrize("counter", ["slices", "eh"])
def test_interrupts_while_asking(counter, what):
    for run in range(10):
        interrupt_asking(counter, what, run)


# 4. A MemoryError that the caller handles: totals wrong "with probability 1"

LIMITED = r"""
import resource, sys, json, numpy as np, ecmsketch as ecm
counter, names, n1, step, tries = sys.argv[1], sys.argv[2] == "1", *map(int, sys.argv[3:])
config = ecm.SketchConfig(epsilon=0.02, delta=0.01, window=10**9, counter=counter, heavy_hitters=names)
n0 = 50_000
items, ticks = np.arange(n0 + n1) % 1000, np.arange(n0 + n1)
def start():
    s = ecm.EcmSketch(config); s.update_many(items[:n0], ticks[:n0]); s.total(); return s
def go_on(s): s.update_many(items[n0:], ticks[n0:]); s.total()
warm = start(); go_on(warm); warm.estimate_many(np.arange(1000)); warm.serialize()
size = lambda: int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
raised, wrong = 0, []
for more in range(0, tries * step, step):
    s, out = start(), None
    resource.setrlimit(resource.RLIMIT_AS, (size() + more, -1))
    try: go_on(s)
    except MemoryError: out = True
    except Exception as error: out = f"{type(error).__name__}: {error}"
    finally: resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    if out is None: continue
    raised += 1
    if out is not True: wrong.append(out)
    try:
        total, known = s.total(), s.now + 1
        found = s.estimate_many(np.arange(1000))
        low = int((np.asarray(found.upper) < np.bincount(items[:known], minlength=1000)).sum())
        again = ecm.EcmSketch.deserialize(s.serialize()).total()
        if not total.covers(known) or low or again != total:
            wrong.append(f"{total.value:.0f} counted of {known}, {low} upper bounds too low")
        if known not in (n0, n0 + n1): wrong.append(f"a part of the batch was counted: up to {known}")
    except Exception as error: wrong.append(f"afterwards {type(error).__name__}: {error}")
print(json.dumps({"raised": raised, "wrong": wrong[:5]}))
"""


NO_RESERVES = {"MALLOC_MMAP_THRESHOLD_": "16384", "MALLOC_TRIM_THRESHOLD_": "0", "MALLOC_TOP_PAD_": "0"}
"""glibc gives memory back at once, so that the limit is felt."""


def without_memory(counter, names, events, step, tries):
    code, out, error = end_of(child(LIMITED, counter, int(names), events, step, tries, **NO_RESERVES))
    assert code == 0, f"code {code} when memory was short: {error}"
    assert not json.loads(out)["wrong"], out
    return json.loads(out)["raised"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_AS and /proc")
@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("counter", ["slices", "eh"])
def test_counting_while_memory_is_short(counter, names):
    without_memory(counter, names, 60_000, 2**16, 40)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_AS and /proc")
@pytest.mark.parametrize("counter", COUNTERS[:3])
def test_counting_while_memory_is_shorter(counter):
    raised = without_memory(counter, True, 60_000, 2**14, 256) + without_memory(counter, False, 2_000_000, 2**19, 64)
    assert raised > 10


# 5. A MemoryError while gathered arrivals were counted: the retry counted them twice

GATHERED = r"""
import json, sys, numpy as np, _testcapi, ecmsketch as ecm
counter, points = sys.argv[1], int(sys.argv[2])
config = ecm.SketchConfig(epsilon=0.3, delta=0.1, window=10**6, counter=counter, heavy_hitters=True)
def start():
    s = ecm.EcmSketch(config, site="a"); s.update_many(np.arange(1000) % 7, np.arange(1000)); return s
expected = start(); expected.total(); expected.top(3); expected = expected.serialize()
wrong, raised, calm, number = [], 0, 0, 0
while calm < 5 and number < points:
    s = start()
    _testcapi.set_nomemory(number, number + 1)
    try: s.total()
    except Exception: failed = True  # a MemoryError, or what becomes of it elsewhere
    else: failed = False
    finally: _testcapi.remove_mem_hooks()
    raised, calm, number = raised + failed, 0 if failed else calm + 1, number + 1
    total, found = s.total(), s.estimate(0)
    if not total.covers(1000) or not found.covers(143):
        wrong.append(f"allocation {number}: total {total}, item 0 {found}")
    if s.serialize() != expected: wrong.append(f"allocation {number}: another state")
print(json.dumps({"raised": raised, "wrong": wrong[:5]}))
"""


@pytest.mark.parametrize("counter", COUNTERS)
def test_gathered_arrivals_are_counted_once_when_memory_is_short(counter):
    pytest.importorskip("_testcapi")
    code, out, error = end_of(child(GATHERED, counter, 400))
    assert code == 0, f"code {code} when memory was short: {error}"
    found = json.loads(out)
    assert not found["wrong"], found
