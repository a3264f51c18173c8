"""What compiled modules make of small inputs, to be compared with what they make of them uncompiled.

`python -m uncompiled.small_runs FILE` runs all uncompiled and writes the results to a file.
"""

from __future__ import annotations

import gc
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np

TESTS = Path(__file__).parents[1]
VECTORS = TESTS / "vectors" / "hashing.json"
if str(TESTS / "engines") not in sys.path:
    sys.path.append(str(TESTS / "engines"))


def hashing() -> dict[str, Any]:
    """Hashes of words and texts, with the vectors that are published."""
    from ecmsketch.kernels import hashing

    vectors, rng = json.loads(VECTORS.read_text()), np.random.default_rng(1)
    found: dict[str, Any] = {"mix": hashing.mix(rng.integers(0, 2**63, 50).astype(np.uint64))}
    found["states"] = hashing.splitmix64(2**63 + 5, 20)
    for each in vectors["items"]:
        if "integer" not in each:
            data = bytes.fromhex(each["bytes"]) if "bytes" in each else each["text"].encode()
            assert hashing.hash_bytes(data) == int(each["hash"])
    for each in vectors["cells"]:
        rows = hashing.row_hashes(each["seed"], each["depth"], each["width"])
        cells = hashing.cells_of(np.array([int(item) for item in each["items"]], np.uint64), rows)
        assert each["cells"] in (cells.tolist(), cells.T.tolist())
        found[f"cells {each['seed']}"] = cells
    stacked = hashing.stack_rows([(hashing.row_hashes(3, 2, 17), 4), (hashing.direct_row(3), 61)])
    found["stacked"] = hashing.cells_of(rng.integers(0, 2**63, 5000).astype(np.uint64), stacked)
    data = rng.integers(0, 256, 500).astype(np.uint8)
    ends = np.sort(rng.integers(0, 500, 60))
    found["many"] = hashing.hash_many(data, np.maximum(ends - 40, 0), ends, 2**64 - 3)
    return found


def packing() -> dict[str, Any]:
    """Numbers as bytes and back, and orders."""
    from ecmsketch.kernels import packing, sorting

    rng, found = np.random.default_rng(2), {}
    for bits in (0, 1, 9, 33, 64):
        for different in (1, 20, 300):
            words = rng.integers(0, 2**63, different).astype(np.uint64) * np.uint64(2)
            some = words >> np.uint64(64 - bits) if bits else words * np.uint64(0)
            numbers = rng.choice(some, 300).astype(np.uint64)
            data = packing.packed(numbers)
            read, at = packing.unpacked(data, 0, 300)
            assert at == len(data)
            np.testing.assert_array_equal(read, numbers)
            spoilt = data.copy()
            spoilt[rng.integers(0, len(data))] ^= 4
            found[bits, different] = data, packing.unpacked(spoilt, 0, 300)[1], packing.unpacked(data[:-1], 0, 300)[1]
    numbers = rng.integers(0, 2**62, 50) >> rng.integers(0, 62, 50)
    written = packing.put_varints(numbers)
    found["varints"] = written, packing.get_varints(written, 0, 50), packing.get_varints(written[:-1], 0, 50)
    for count in (0, 1, 20, 300):
        found["order", count] = sorting.order_of(rng.integers(-(2**61), 2**62, count) >> rng.integers(0, 60))
    return found


def growth() -> dict[str, Any]:
    """Slices that are made, joined and split."""
    from slice_cases import SHAPES, random_events, random_slices, sliced_stream

    from ecmsketch.engines.slices import growth, inside, profile

    found: dict[str, Any] = {}
    for number, shape in enumerate(SHAPES):
        rng = np.random.default_rng(number)
        for turn in range(12):
            facts, newer = random_slices(rng, shape, int(rng.integers(1, 40))), int(rng.integers(0, 10**6))
            epsilon = float(rng.choice([0.01, 0.1, 0.5]))
            ticks, weights = random_events(
                rng, 60, bool(turn % 2), int(facts[:, 1].max()) - int(facts[:, 0].min()) or 1
            )
            found[shape, turn] = [
                growth.joined(facts, newer, epsilon, 1.2 * epsilon),
                growth.spare(facts, newer, epsilon),
                profile.shares(facts, 0, np.arange(facts[0, 0] - 2, facts[0, 0] + 60)),
                profile.ticks_of_shares(facts, 0, rng.random(20)),
                profile.filled(ticks, weights, 3, 59, turn % 3 == 0),
                growth.made(ticks, weights, 0, 60, newer + 60, epsilon, 0),
                growth.beside(facts, ticks, weights, np.arange(60), 7, newer, epsilon, epsilon, 20, 1),
            ]
            facts, newest = sliced_stream(rng, 6)
            ticks = np.sort(rng.integers(facts[0, 0] - 9, facts[-1, 1], 80))
            words = profile.as_words(facts, 80)
            found[shape, turn].append(inside.placed(words, 6, ticks, None, 0, 80, newest, epsilon, epsilon, 20, 0))
    return found


def streams() -> dict[str, Any]:
    """A stream of slices: batches, weights, late events, merging."""
    from ecmsketch.config import SketchConfig
    from ecmsketch.engines.slices.stream import SliceStream

    def contents(stream: Any) -> list[Any]:
        tables = [stream.table(slot) for slot in range(stream.slice_count)]
        return [stream.fresh, stream.levels, stream.facts(), tables, *stream.events_columns()]

    found: dict[str, Any] = {}
    config = SketchConfig(epsilon=0.3, delta=0.2, window=10_000, counter="slices", late="side")
    for seed in (1, 2):
        rng, parts = np.random.default_rng(seed), []
        for part in range(2):
            stream, now = SliceStream(config), 0
            for _ in range(3):
                count = int(rng.integers(1, 1500))
                ticks = now + np.sort(rng.integers(0, 2000, count))
                weights = rng.integers(1, 40, count) if seed == 2 else None
                stream.add(rng.integers(0, 50, count).astype(np.uint64), ticks, weights)
                now = int(ticks[-1])
                late = np.sort(rng.integers(max(now - 5000, 0), now, 200))
                stream.add_late(rng.integers(0, 50, 200).astype(np.uint64), late, None, now)
            found[seed, part] = contents(stream)
            parts.append(stream)
        found[seed, "merged"] = contents(SliceStream.merge(parts, max(int(part.span()[1]) for part in parts)))
    return found


def reading() -> dict[str, Any]:
    """Questions about a stream of slices."""
    from ecmsketch.config import SketchConfig
    from ecmsketch.engines.slices.reading import SliceReading
    from ecmsketch.engines.slices.stream import SliceStream

    found: dict[str, Any] = {}
    for resolution in (None, 0.5):
        rng = np.random.default_rng(5)
        config = SketchConfig(epsilon=0.3, delta=0.2, window=10_000, counter="slices", resolution=resolution)
        stream = SliceStream(config)
        ticks = np.sort(rng.integers(0, 9000, 4000))
        stream.add(rng.zipf(1.3, 4000).astype(np.uint64), ticks, rng.integers(1, 30, 4000))
        asked = SliceReading(stream)
        for since, until in ((0, 9000), (2500, 8000), (8990, 9000), (300, 301)):
            found[resolution, since] = [
                tuple(asked.total(since, until)),
                asked.most_since(since, 9000),
                tuple(asked.point(np.arange(1, 30, dtype=np.uint64), stream.rows, 0, since, until, 0.1)),
                tuple(asked.one_point(2, since, until, 0.1)),
                tuple(asked.cells(np.arange(20, dtype=np.uint32), since, until)),
            ]
        found[resolution, "history"] = tuple(asked.history(1, 0, 900, 10, 0.1))
    return found


def names() -> dict[str, Any]:
    """Candidates for heavy hitters."""
    from ecmsketch.config import SketchConfig
    from ecmsketch.engines.names.frequent import FrequentItems

    found: dict[str, Any] = {}
    for weighted in (False, True):
        rng = np.random.default_rng(6)
        config = SketchConfig(epsilon=0.1, delta=0.05, window=1000, heavy_hitters=True)
        ticks, frequent = np.sort(rng.integers(0, 3000, 3000)), FrequentItems.new(config)
        for part in np.array_split(np.arange(3000), 4):
            keys = (rng.zipf(1.4, len(part)) % 500).astype(np.uint64)
            frequent = frequent.added(keys, ticks[part], rng.integers(1, 50, len(part)) if weighted else None)
        found[weighted] = [tuple(frequent.candidates(since, 3000)) for since in (2000, 2500, 2990)]
    return found


def counters() -> dict[str, Any]:
    """Counters of cells: histograms and waves."""
    from ecmsketch.config import SketchConfig
    from ecmsketch.engines.cells.registry import counter_class

    found: dict[str, Any] = {}
    for kind in ("eh", "dw", "rw"):
        for model in ("time", "count"):
            rng = np.random.default_rng(3)
            config = SketchConfig(epsilon=0.3, delta=0.5, window=300, counter=kind, model=model)
            counters, now = counter_class(config).new(config, 7), 0
            for _ in range(3):
                cells = rng.integers(0, 5, (1, 150)).astype(np.uint32)
                ticks = now + 1 + (np.arange(150) if model == "count" else np.sort(rng.integers(0, 250, 150)))
                counters.add(cells, ticks, None, int(ticks[0]), int(ticks[-1]))
                now = int(ticks[-1])
            found[kind, model] = counters.encode(now), counters.bucket_count
    return found


RUNS = (hashing, packing, growth, streams, reading, counters, names)


def main(path: str) -> None:
    """Run everything uncompiled."""
    sys.path.insert(0, str(TESTS))
    import uncompiled
    from uncompiled.fake_cython import pieces_in_use

    uncompiled.install()
    found = {}
    for run in RUNS:
        gc.collect()
        before = pieces_in_use()
        found[run.__name__] = run()
        gc.collect()
        found[run.__name__, "pieces of memory left"] = pieces_in_use() - before
    import ecmsketch.kernels.hashing as module

    found["file"] = module.__file__
    Path(path).write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
