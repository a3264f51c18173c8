"""Public operations on sketches, as series of calls: what happens to them in the middle is tried by fault_child.py.

Whatever stops a call, the sketches are then as before it or as after it, byte for byte.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import ecmsketch as ecm

COUNTERS = ("slices", "eh", "dw", "rw", "prefix")
"""Two engines, all counters, and a PrefixSketch (with slices)."""
NOW = 40_000
EVENTS = 12_000
Sketches = list[Any]


class Operation(NamedTuple):
    """Some sketches, and a series of calls. `changes`: whether a call changes them, or gives an answer."""

    name: str
    start: Callable[[], Sketches]
    call: Callable[[Sketches, int], Any]
    calls: int
    changes: bool


def config_of(counter: str) -> ecm.SketchConfig:
    return ecm.SketchConfig(
        epsilon=0.4 if counter == "rw" else 0.1, delta=0.1, window=50_000, late="side", lateness=20_000, seed=3,
        counter="slices" if counter == "prefix" else counter, heavy_hitters=counter != "prefix",
        **({"wave_constant": 4.0} if counter == "rw" else {}),
    )  # fmt: skip


def new_sketch(counter: str, site: str = "a") -> Any:
    if counter == "prefix":
        return ecm.PrefixSketch(config_of(counter), bits=12)
    return ecm.EcmSketch(config_of(counter), site=site)


@cache
def stream(seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.zipf(1.2, EVENTS) % 3000, np.sort(rng.integers(0, NOW, EVENTS))


@cache
def filled(counter: str, seed: int = 0, shift: int = 0) -> bytes:
    """A sketch with events of a while, some of which came late."""
    sketch = new_sketch(counter, f"site {seed}")
    items, ticks = stream(seed)
    sketch.update_many(items, ticks + shift)
    sketch.update_many(items[:300], ticks[-300:] + shift - np.arange(300) * 30)
    return sketch.serialize()


def loaded(counter: str, seed: int = 0, shift: int = 0) -> Any:
    """The same, with a few events that were not counted yet."""
    kind = ecm.PrefixSketch if counter == "prefix" else ecm.EcmSketch
    sketch = kind.deserialize(filled(counter, seed, shift), None)
    sketch.update_many(stream(seed)[0][:700], np.arange(700) // 20 + NOW + shift)
    return sketch


def operations(counter: str) -> dict[str, Operation]:
    rng = np.random.default_rng(1)
    items = (2000 * rng.random(400_000) ** 3).astype(np.int64)
    later = np.arange(len(items)) // 50 + NOW + 100
    prefix = counter == "prefix"
    texts = items[:5000].tolist() if prefix else [f"item {item}" for item in items[:5000].tolist()]
    names = np.arange(40)

    def one() -> Sketches:
        return [loaded(counter)]

    def three() -> Sketches:
        return [loaded(counter, seed) for seed in range(3)]

    def segments() -> Sketches:
        return [loaded(counter, 0), loaded(counter, 1, 2 * NOW)]

    def batch(sketches: Sketches, size: int, i: int) -> None:
        some = slice(size * i, size * (i + 1))
        sketches[0].update_many(items[some], later[some])

    def late(sketches: Sketches, i: int) -> None:
        some = slice(200 * i, 200 * i + 200)
        sketches[0].update_many(items[some], NOW - (items[some] * 7 + i) % 19_000)

    def last(i: int) -> dict[str, Any]:
        if i % 4 == 3:
            return {"between": (NOW - 9000 - 31 * i, NOW - 500 - 17 * i)}
        return {"last": 700 + 371 * i}

    kind = ecm.PrefixSketch if prefix else ecm.EcmSketch
    changing = {
        "update": (one, lambda s, i: s[0].update(texts[i], int(later[i]), 1 + i % 5 // 4), 2000),
        "update one by one, integers": (one, lambda s, i: s[0].update(int(items[i]), int(later[i])), 3000),
        "update_many, a few": (one, lambda s, i: batch(s, 60, i), 60),
        "update_many, thousands": (one, lambda s, i: batch(s, 3000, i), 12),
        "update_many, a large batch": (one, lambda s, i: batch(s, 140_000, i), 2),
        "update_many, texts and weights": (
            one,
            lambda s, i: s[0].update_many(texts[50 * i : 50 * i + 50], later[50 * i : 50 * i + 50], [1, 3] * 25),
            30,
        ),
        "late": (one, late, 15),
        "advance": (one, lambda s, i: s[0].advance(NOW + 100 + 1700 * i), 25),
    }
    asking = {
        "merge": (three, lambda s, i: ecm.merge(s), 3),
        "merge in pairs": (three, lambda s, i: ecm.merge(s, "binary"), 2),
        "concat": (segments, lambda s, i: ecm.concat(s), 3),
        "serialize": (one, lambda s, i: s[0].serialize(), 10),
        "deserialize": (one, lambda s, i: kind.deserialize(filled(counter), None), 5),
        "pickle": (one, lambda s, i: pickle.loads(pickle.dumps(s[0])), 3),
        "copy": (one, lambda s, i: s[0].copy(), 10),
        "compare": (three, lambda s, i: s[0] == s[1], 3),
        "total": (one, lambda s, i: s[0].total(**last(i)), 25),
        "estimate": (one, lambda s, i: s[0].estimate(int(items[i]), **last(i)), 25),
        "history": (one, lambda s, i: s[0].history(int(items[i]), 3000, 30_000 + i), 3),
    }
    if prefix:
        asking |= {
            "quantiles": (one, lambda s, i: s[0].quantiles([0.1, 0.5, 0.9], **last(i)), 8),
            "range_sum": (one, lambda s, i: s[0].range_sum(3 * i, 900 + i, **last(i)), 8),
            "heavy_hitters": (one, lambda s, i: s[0].heavy_hitters(0.2, **last(i)), 5),
        }
    else:
        asking |= {
            "estimate_many": (one, lambda s, i: s[0].estimate_many(names + i, **last(i)), 12),
            "last arrivals": (one, lambda s, i: s[0].estimate(i, last_arrivals=400 + 300 * i), 4),
            "top": (one, lambda s, i: s[0].top(5, **last(i)), 8),
            "heavy_hitters": (one, lambda s, i: s[0].heavy_hitters(0.3, **last(i)), 8),
            "heavy_changes": (one, lambda s, i: s[0].heavy_changes(5, 3000 + i), 5),
            "self_join": (one, lambda s, i: s[0].self_join(unproven=counter == "rw", **last(i)), 5),
        }
    return {name: Operation(name, *parts, changes=name in changing) for name, parts in (changing | asking).items()}


def state_of(sketches: Sketches) -> list[bytes]:
    return [sketch.serialize() for sketch in sketches]


def told(answer: Any) -> str:
    """An answer as text that is equal for equal answers."""
    if hasattr(answer, "serialize"):
        return answer.serialize().hex()
    if isinstance(answer, np.ndarray):
        return repr(answer.tolist())
    if isinstance(answer, tuple | list):
        return repr([told(part) for part in answer])
    if hasattr(answer, "__dataclass_fields__"):
        return repr([told(getattr(answer, name)) for name in answer.__dataclass_fields__])
    return repr(answer)
