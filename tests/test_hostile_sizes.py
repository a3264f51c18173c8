"""What a few bytes may cause: memory at decoding and at the first update is bounded, whatever config they claim."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.errors import ConfigError, FormatError
from ecmsketch.sketch.codec import MAX_NBYTES
from hand_written import config_bytes, sketch_bytes, state_bytes

SPARE = 2**24
"""What Python, numpy and the arrivals themselves may take."""


def blob(counter="eh", named=False, bits=0, digit=0, counters=b"", settled=b"", **fields):
    """A sketch as an adversary would write it: any config, and counters or none."""
    flags = 1 | (2 if counters or settled else 0) | (4 if counters else 0) | (8 if settled else 0)
    return sketch_bytes(
        config_bytes(
            **{"epsilon": 0.1, "delta": 0.1, "window": 1000, "counter": counter, **fields},
            domain=(bits, digit) if bits else (),
        ),
        state_bytes(
            flags | (16 if named else 0), 0 if counter == "rw" else None, 100, 100, sizes=(len(counters), len(settled))
        ),
        counters + settled + (struct.pack("<BQQQ", 0, 0, 0, 0) if named else b""),
        1 if bits else 0,
    )


def resident(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) * 1024


def peak_of(work) -> int:
    """Memory that some work takes at its peak, compiled kernels' included (tracemalloc does not see those)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pytest.skip("the peak of a process's memory can be measured on Linux only")
    before = resident("VmRSS")
    work()
    return resident("VmHWM") - before


def decode_and_update(data: bytes) -> bool:
    """Whether the bytes were a sketch; then it is fed."""
    try:
        sketch = ecm.load(data)
    except FormatError:
        return False
    sketch.update_many([1, 2], [sketch.now, sketch.now + 1])
    sketch.estimate(1)
    return True


HOSTILE = [
    {"epsilon": epsilon, "delta": delta, **kind}
    for epsilon in (1e-6, 1.7e-6, 2e-5, 1e-4, 3e-4, 3e-3, 0.3)
    for delta in (1e-12, 0.01, 0.9)
    for kind in (
        {}, {"late": "side"}, {"named": True, "merge_depth": 64}, {"bits": 64, "digit": 1}, {"bits": 64, "digit": 8},
        {"counter": "dw"}, {"counter": "dw", "max_arrivals": 2**53}, {"counter": "dw", "window": 2**59},
        {"counter": "dw", "merge_depth": 64}, {"counter": "rw"}, {"counter": "rw", "wave_instances": 99},
        {"counter": "rw", "wave_constant": 1000.0}, {"counter": "rw", "bits": 64, "digit": 2},
        {"resolution": 1e-6}, {"resolution": 0.9}, {"counter": "dw", "resolution": 1e-6, "merge_depth": 64},
        {"counter": "rw", "resolution": 1e-6}, {"counter": "slices", "resolution": 0.3},
        {"counter": "slices", "resolution": 0.3, "bits": 64, "digit": 2}, {"counter": "slices", "window": 2**59},
    )
]  # fmt: skip


def test_decoding_and_a_first_update_stay_within_the_bound_whatever_the_config():
    for data in (
        blob(),
        blob(named=True),
        blob(counter="dw"),
        blob(counter="rw"),
        blob(bits=8, digit=2),
        blob("slices"),
    ):
        assert decode_and_update(data)  # kernels are compiled, and that is not counted
    accepted = 0
    for fields in HOSTILE:
        data = blob(**fields)
        assert len(data) < 100
        results = []
        peak = peak_of(lambda data=data, results=results: results.append(decode_and_update(data)))
        assert peak <= MAX_NBYTES + SPARE, (fields, peak)
        accepted += results[0]
    assert len(HOSTILE) / 4 < accepted < len(HOSTILE), "both kinds are meant to be tried"


def test_the_blob_of_the_issue_is_refused_and_says_the_way_out():
    data = blob(epsilon=1e-6, delta=0.3)
    assert len(data) == 40
    with pytest.raises(FormatError, match=r"epsilon=1e-06 .* takes 69\d,\d+,\d+ bytes .* give a larger max_nbytes"):
        ecm.EcmSketch.deserialize(data)
    for trusted in (None, 2**30):
        assert ecm.EcmSketch.deserialize(data, max_nbytes=trusted).is_empty
        assert ecm.load(data, max_nbytes=trusted).is_empty
    for wrong in (-1, "a", True, 1.5):
        with pytest.raises(FormatError, match="max_nbytes"):
            ecm.load(data, max_nbytes=wrong)


def test_one_busy_wave_cannot_widen_all_others_beyond_the_bound():
    """Every wave has as many levels as the busiest: 50,000 bytes would take hundreds of megabytes."""
    config = ecm.SketchConfig(epsilon=0.01, delta=1e-12, window=1000, counter="dw")
    sketch = ecm.EcmSketch(config)
    sketch.update("a", 1, weight=2**50)
    data = sketch.serialize()
    assert sketch.nbytes > MAX_NBYTES > 128 * len(data)
    with pytest.raises(FormatError, match=r"deterministic waves take .* give a larger max_nbytes"):
        ecm.EcmSketch.deserialize(data)
    assert ecm.EcmSketch.deserialize(data, max_nbytes=sketch.nbytes) == sketch


def test_settled_late_counters_are_bounded_as_the_others_are():
    cells = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000, counter="eh").cells
    empty = bytes(1 + cells)
    assert ecm.load(blob(counters=empty, settled=empty)).total().value == 0
    with pytest.raises(FormatError):
        ecm.load(blob(epsilon=1e-6, delta=0.3, settled=empty))


def test_what_is_large_itself_is_read_and_copies_always_are():
    wide = ecm.EcmSketch(ecm.SketchConfig(epsilon=2e-5, delta=0.01, window=1000, counter="eh"))
    assert wide.config.first_nbytes > MAX_NBYTES
    assert pickle.loads(pickle.dumps(wide)) == wide
    with pytest.raises(FormatError, match="max_nbytes"):
        ecm.EcmSketch.deserialize(wide.serialize())
    wide.update_many(np.arange(10), np.arange(10))
    assert ecm.EcmSketch.deserialize(wide.serialize()) == wide


@pytest.mark.parametrize("counter", ["eh", "dw", "rw", "slices"])
@pytest.mark.parametrize("epsilon", [0.001, 0.01, 0.1])
def test_the_config_says_what_a_first_arrival_takes(counter, epsilon):
    try:
        config = ecm.SketchConfig(epsilon=epsilon, delta=0.01, window=1000, counter=counter)
    except ConfigError:
        return
    sketch = ecm.EcmSketch(config, site="here")
    sketch.update_many([1], [1])
    assert sketch.nbytes <= config.first_nbytes + 1000
