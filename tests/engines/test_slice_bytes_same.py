"""Bytes of slices against the numba code that they replace: the same bytes, the same streams, the same refusals."""

from __future__ import annotations

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.engines.slices.bytes import decode, encode
from ecmsketch.engines.slices.stream import SliceStream
from ecmsketch.errors import FormatError
from ecmsketch.slices.sliced_stream import SlicedStream
from ecmsketch.slices.table_planes import add_slice
from ecmsketch.slices.table_pool import TABLE
from streams import zipf_items


def new_of(old: SlicedStream) -> SliceStream:
    """The same stream in the new engine."""
    tables, count = [], old.slice_count
    for slot in range(count):
        table = np.zeros(4 * old.pool.pool.shape[1], np.int64)
        add_slice(old.pool, slot, table)
        tables.append(table[: old.config.cells].copy())
    events = old.events
    weights = events.weights.copy() if len(events.weights) else None
    columns = (events.items.copy(), events.ticks.copy(), weights)
    return SliceStream.restored(old.config, old.levels, old.fresh, columns, old.pool.facts[:count, :TABLE], tables)


def contents(stream: SliceStream):
    keys, ticks, weights = stream.events_columns()
    tables = [stream.table(slot).tolist() for slot in range(stream.slice_count)]
    return (
        stream.fresh,
        stream.facts().tolist(),
        tables,
        keys.tolist(),
        ticks.tolist(),
        weights is not None and weights.tolist(),
    )


def old_decoded(data: bytes, config, now: int) -> SlicedStream:
    return SlicedStream.decode(np.frombuffer(data, np.uint8), config, now, 2**60)


def random_sketch(rng):
    model = str(rng.choice(["time", "count"]))
    config = ecm.SketchConfig(
        epsilon=float(rng.choice([0.5, 0.3, 0.1])), delta=0.3, window=int(rng.choice([50, 900, 20_000, 2**40])),
        late="side", model=model, resolution=float(rng.choice([0.1, 0.3, 0.8])), merge_depth=int(rng.integers(0, 2)),
    )  # fmt: skip
    prefix = rng.random() < 0.25
    sketch = ecm.PrefixSketch(config, bits=int(rng.integers(3, 13))) if prefix else ecm.EcmSketch(config)
    count = int(rng.choice([1, 5, 300, 4000, 9000]))
    if prefix:
        items = rng.integers(0, 1 << sketch.config.bits, count)
    else:
        items = zipf_items(count, int(rng.integers(2, 400)), rng).astype(np.int64) * int(rng.choice([1, 2**40]))
    weights = None
    if rng.random() < 0.5:
        weights = rng.choice([1, 1, 2, 9, 1000 if model == "count" else 10 ** int(rng.integers(1, 11))], count)
    if model == "count":
        sketch.update_many(items, weights=weights)
        return sketch
    sketch.update_many(items, np.sort(rng.integers(0, min(4 * config.window, 10**6), count)), weights)
    if rng.random() < 0.4:
        late = items[: int(rng.integers(1, 400))]
        sketch.update_many(late, sketch.now - rng.integers(0, config.window, len(late)), rng.integers(1, 9, len(late)))
    if rng.random() < 0.3 and not prefix:
        other = ecm.EcmSketch(config)
        other.update_many(items + 1, np.sort(rng.integers(0, min(4 * config.window, 10**6), count)))
        return ecm.merge([sketch, other])
    return sketch


def made(seed: int, count: int):
    rng = np.random.default_rng(seed)
    sketches = [random_sketch(rng) for _ in range(count)]
    return [(sketch._flushed().counters, sketch.now) for sketch in sketches]


@pytest.mark.parametrize("seed", range(6))
def test_bytes_and_what_is_read_are_the_same(seed):
    for old, now in made(seed, 25):
        for later in (0, 1, old.config.window // 3, old.config.window):
            data = old.encode(now + later)
            assert encode(new_of(old), now + later) == data
            again = decode(data, old.config, now + later)
            assert contents(again) == contents(new_of(old_decoded(data, old.config, now + later)))
            assert encode(again, now + later) == data


def mutated(data: bytes, rng) -> bytes:
    body = bytearray(data)
    for _ in range(int(rng.choice([1, 1, 2, 5]))):
        most = len(body) if rng.random() < 0.5 else min(len(body), 80)
        at, what = int(rng.integers(0, max(most, 1))), int(rng.integers(0, 6))
        if what == 0 and body:
            body[at] ^= 1 << int(rng.integers(0, 8))
        elif what == 1 and body:
            body[at] = int(rng.choice([0, 1, 127, 128, 255, int(rng.integers(0, 256))]))
        elif what == 2:
            del body[at : at + int(rng.integers(1, 4))]
        elif what == 3:
            body[at:at] = rng.bytes(int(rng.integers(1, 4)))
        elif what == 4:
            other = int(rng.integers(0, max(len(body), 1)))
            body[at : at + 8] = body[other : other + 8]
        else:
            del body[at:]
    return bytes(body)


def refusal(read) -> str | None:
    try:
        read()
    except FormatError as error:
        return str(error)
    return None


@pytest.mark.parametrize("seed", range(6))
def test_the_same_bytes_are_refused_with_the_same_words(seed):
    rng = np.random.default_rng(seed)
    cases = [(old.encode(now), old.config, now) for old, now in made(100 + seed, 25)]
    cases = [case for case in cases if len(case[0]) < 20_000]
    accepted = 0
    for _ in range(2500):
        data, config, now = cases[int(rng.integers(0, len(cases)))]
        changed = mutated(data, rng)
        says = refusal(lambda: old_decoded(changed, config, now))  # noqa: B023
        assert refusal(lambda: decode(changed, config, now)) == says  # noqa: B023
        accepted += says is None
    assert accepted > 50
