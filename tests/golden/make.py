"""The sketches behind the golden files. Run `python tests/golden/make.py` only for a new format version."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import ecmsketch as ecm


def _config(**changes):
    return ecm.SketchConfig(**{"epsilon": 0.2, "delta": 0.2, "window": 1000, "counter": "eh", **changes})


def _filled(config, begin=0, events=3000):
    numbers = np.arange(begin, begin + events, dtype=np.int64)
    sketch = ecm.EcmSketch(config)
    items = (numbers * 2_654_435_761 % 1_000_003) % 97
    if config.model == "count":
        sketch.update_many(items, weights=1 + numbers % 3)
    else:
        sketch.update_many(items, numbers // 2, 1 + numbers % 3)
    return sketch


def empty():
    return ecm.EcmSketch(_config())


def advanced():
    sketch = ecm.EcmSketch(_config(unit="s"))
    sketch.advance(1_700_000_000)
    return sketch


def one_cell():
    sketch = ecm.EcmSketch(_config(epsilon=0.9, delta=0.6))
    sketch.update("10.0.0.1", 7)
    return sketch


def full():
    return _filled(_config())


def count_based():
    return _filled(_config(model="count"))


def long_window():
    return _filled(_config(window=2**40))


def merged():
    return ecm.merge([_filled(_config(), begin) for begin in (0, 100, 2000)])


def concatenated():
    return ecm.concat([_filled(_config(), begin, 500) for begin in (0, 500, 1000, 1500)])


def late():
    sketch = _filled(_config(late="side", lateness=100))
    sketch.update_many(np.arange(60), sketch.now - 1 - np.arange(60), 1 + np.arange(60))
    sketch.advance(sketch.now + 60)
    return sketch


def deterministic_wave():
    return _filled(_config(counter="dw", max_arrivals=1000))


def concatenated_deterministic_waves():
    return ecm.concat([_filled(_config(counter="dw"), begin, 500) for begin in (0, 500, 1000)])


def randomized_wave():
    sketch = ecm.EcmSketch(
        _config(counter="rw", epsilon=0.5, delta=0.5, wave_instances=2, wave_constant=3), site="golden"
    )
    numbers = np.arange(2000)
    sketch.update_many(numbers % 7, numbers // 4, 1 + 100 * (numbers % 50 == 0))
    return sketch


def prefix():
    sketch = ecm.PrefixSketch(_config(epsilon=0.5), bits=12, radix=16)
    numbers = np.arange(2000)
    sketch.update_many(numbers * 7 % 4096, numbers // 3)
    return sketch


def named():
    sketch = ecm.EcmSketch(_config(late="side", heavy_hitters=True))
    numbers = np.arange(4000)
    sketch.update_many([("host", int(n)) if n % 2 else f"/page/{n % 60}" for n in numbers % 300], numbers // 5)
    sketch.update_many([b"bytes", -7, "late"], [700, 700, 750])
    return sketch


def sliced():
    return _filled(_config(counter="slices", resolution=0.1, late="side"), events=6000)


def sliced_events():
    return _filled(_config(counter="slices"), events=20)


def sliced_by_count():
    return _filled(_config(counter="slices", model="count", window=9000), events=6000)


def sliced_and_merged():
    config = _config(counter="slices", late="side", heavy_hitters=True)
    merged = ecm.merge([_filled(config, begin) for begin in (0, 100, 1000)])
    merged.update_many(np.arange(200) % 7, merged.now - np.arange(200) * 3, 1 + np.arange(200) % 5)
    return merged


def sliced_prefix():
    sketch = ecm.PrefixSketch(_config(epsilon=0.5, counter="slices"), bits=12, radix=16)
    numbers = np.arange(3000)
    sketch.update_many(numbers * 7 % 4096, numbers // 3)
    return sketch


EXAMPLES = {
    "empty": empty,
    "advanced": advanced,
    "one-cell": one_cell,
    "full": full,
    "count-based": count_based,
    "long-window": long_window,
    "merged": merged,
    "concatenated": concatenated,
    "late": late,
    "dw": deterministic_wave,
    "dw-concatenated": concatenated_deterministic_waves,
    "rw": randomized_wave,
    "prefix": prefix,
    "named": named,
    "slices": sliced,
    "slices-events": sliced_events,
    "slices-count-based": sliced_by_count,
    "slices-merged": sliced_and_merged,
    "slices-prefix": sliced_prefix,
}


def path_of(name):
    return Path(__file__).parent / f"v1-{name}.ecms"


if __name__ == "__main__":
    for name, make in EXAMPLES.items():
        path_of(name).write_bytes(make().serialize())
    folder = Path(__file__).parent
    good = full().serialize()
    (folder / "bad-truncated.ecms").write_bytes(good[: len(good) // 2])
    (folder / "bad-corrupt.ecms").write_bytes(good[:300] + bytes([good[300] ^ 16]) + good[301:])
    (folder / "bad-nothing.ecms").write_bytes(b"")
