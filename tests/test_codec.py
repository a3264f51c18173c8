from __future__ import annotations

import contextlib
import struct
from pathlib import Path

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.errors import EcmError, FormatError
from golden.make import EXAMPLES, path_of

GOLDEN = Path(__file__).parent / "golden"
FUZZ_SEEDS = sorted(EXAMPLES)


def sealed(body: bytes) -> bytes:
    """A body with a checksum that fits, as an adversary would make it."""
    return body + struct.pack("<Q", xxhash.xxh64_intdigest(body, 0))


class TestGoldenFiles:
    @pytest.mark.parametrize("name", sorted(EXAMPLES))
    def test_files_of_older_versions_are_still_read_and_answer_the_same(self, name):
        data = path_of(name).read_bytes()
        expected = EXAMPLES[name]()
        sketch = type(expected).deserialize(data)
        assert sketch == expected
        assert sketch.serialize() == data

    @pytest.mark.parametrize("name", ["truncated", "corrupt", "nothing"])
    def test_bad_files_are_refused(self, name):
        with pytest.raises(FormatError):
            ecm.EcmSketch.deserialize((GOLDEN / f"bad-{name}.ecms").read_bytes())


class TestRefusals:
    good = EXAMPLES["full"]().serialize()

    @pytest.mark.parametrize(
        ("data", "says"),
        [
            (b"", "truncated"),
            (b"ECMS", "truncated"),
            (good[:-1], "checksum"),
            (good[:200], "checksum"),
            (b"PAR1" + good[4:], "not a sketch"),
            (good[:4] + b"\x03" + good[5:], "version 3"),
            (sealed(good[:5] + b"\x09" + good[6:-8]), "unknown kind 9"),
            (good + b"\x00", "checksum"),
            (sealed(good[:-8] + b"\x00"), "add up"),
            ("text", "expected bytes"),
            (None, "expected bytes"),
            (12, "expected bytes"),
        ],
    )
    def test_says_what_is_wrong(self, data, says):
        with pytest.raises(FormatError, match=says):
            ecm.EcmSketch.deserialize(data)

    def test_every_single_flipped_bit_is_noticed(self):
        data = EXAMPLES["one-cell"]().serialize()
        for position in range(len(data)):
            for bit in range(8):
                flipped = bytearray(data)
                flipped[position] ^= 1 << bit
                with pytest.raises(FormatError):
                    ecm.EcmSketch.deserialize(flipped)

    def test_every_truncation_is_noticed(self):
        data = EXAMPLES["late"]().serialize()
        for length in range(len(data)):
            with pytest.raises(FormatError):
                ecm.EcmSketch.deserialize(data[:length])

    @pytest.mark.parametrize("field", range(8, 112))
    def test_absurd_fields_with_a_good_checksum_never_get_far(self, field):
        """Headers that promise billions of counters, buckets or arrivals are refused before anything is allocated."""
        for pattern in (b"\xff" * 8, b"\x7f" * 8, b"\x00" * 8, b"\x01" + b"\x00" * 7):
            body = bytearray(self.good[:-8])
            body[field : field + 8] = pattern
            survive(sealed(bytes(body)))


def header(epsilon=0.9, delta=0.5, flags=0, levels=0, now=0, origin=0, counted=0, dropped=0, counters=b""):
    """A sketch as an adversary would write it by hand."""
    return sealed(
        struct.pack("<4sBBH", b"ECMS", 1, 0, 0)
        + struct.pack("<ddqQqqdHBBBBBBBBBB", epsilon, delta, 50, 0, -1, 0, 0.0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0)
        + struct.pack("<BHQqqqQQIQQ", flags, levels, 0, now, origin, -(2**61), counted, dropped, 0, len(counters), 0)
        + counters
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"epsilon": 1e-17}, {"delta": 1e-309}, {"flags": 3, "now": 100, "origin": 50}, {"flags": 2}, {"now": 5},
        {"flags": 1, "now": 5, "origin": 5}, {"flags": 1, "dropped": 2**64 - 1}, {"flags": 1, "counted": 2**64 - 1},
        {"flags": 1, "levels": 65}, {"flags": 4, "now": 1000, "counters": b"\0" + bytes([3, 2, 1, 1]) * 14},
        {"epsilon": 1e-6, "flags": 7, "now": 1, "origin": 1}, {"flags": 16},
    ],
)  # fmt: skip
def test_impossible_states_are_refused(fields):
    with pytest.raises(FormatError):
        ecm.EcmSketch.deserialize(header(**fields))


def test_the_hand_written_header_is_right():
    assert ecm.EcmSketch.deserialize(header(flags=1, now=100, dropped=3)).late_dropped == 3


def survive(data: bytes) -> bool:
    """Either a FormatError, or a sketch that can be used in every way without a crash; returns whether it was one."""
    kind = ecm.PrefixSketch if data[5:6] == b"\x01" else ecm.EcmSketch
    try:
        sketch = kind.deserialize(data)
    except FormatError:
        return False
    if sketch.config.cells > 10_000:
        return True
    with contextlib.suppress(EcmError):
        use(sketch)
    return True


def use(sketch) -> None:
    """Everything that users do."""
    sketch.bucket_count  # noqa: B018
    sketch.total()
    if isinstance(sketch, ecm.PrefixSketch):
        sketch.range_sum(0, 1, last=sketch.config.window // 2)
        sketch.quantile(0.5)
    else:
        sketch.estimate_many(np.arange(20), last=sketch.config.window // 2)
        sketch.self_join(unproven=True)
    assert type(sketch).deserialize(sketch.serialize()) == sketch
    ecm.concat([sketch, sketch.copy()])
    if sketch.config.model == "time":
        ecm.merge([sketch, sketch])
        if sketch.now is not None:
            sketch.update_many(np.arange(50) % 2, np.full(50, sketch.now))
    else:
        sketch.update_many(np.arange(50) % 2)


def mutate(data: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes changed, cut out, doubled or overwritten with extremes; often sealed with a fitting checksum."""
    body = bytearray(data[:-8])
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(0, len(body)))
        kind = rng.integers(0, 5)
        if kind == 0:
            body[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            body[at] = int(rng.choice([0, 1, 127, 128, 255]))
        elif kind == 2:
            del body[at : at + int(rng.integers(1, 9))]
        elif kind == 3:
            body[at:at] = body[at : at + int(rng.integers(1, 9))]
        else:
            body[at : at + 8] = rng.bytes(8)
        if not body:
            break
    return sealed(bytes(body)) if rng.random() < 0.9 else bytes(body) + data[-8:]


def fuzz(blobs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    originals = [EXAMPLES[name]().serialize() for name in FUZZ_SEEDS]
    used = sum(survive(mutate(originals[i % len(originals)], rng)) for i in range(blobs))
    assert used > blobs / 50, "mutations that are all refused at once test little"


def test_mutated_blobs_are_survived():
    fuzz(20_000, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_very_many_mutated_blobs_are_survived(seed):
    fuzz(25_000, seed=100 + seed)


@given(st.binary(max_size=300))
def test_random_bytes_are_not_a_sketch(data):
    with pytest.raises(FormatError):
        ecm.EcmSketch.deserialize(data)
    survive(sealed(b"ECMS\x01\x00\x00\x00" + data))


def test_memoryviews_and_bytearrays_are_read_too():
    data = TestRefusals.good
    assert ecm.EcmSketch.deserialize(bytearray(data)) == ecm.EcmSketch.deserialize(memoryview(data))


def test_bytes_per_bucket_with_one_second_ticks():
    rng = np.random.default_rng(0)
    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.1, delta=0.1, window=10**6))
    sketch.update_many(rng.zipf(1.3, 1_000_000) % 90_000, np.sort(rng.integers(0, 10**6, 1_000_000)))
    assert len(sketch.serialize()) / sketch.bucket_count <= 2.5


def test_an_empty_sketch_is_a_few_bytes_however_wide():
    wide = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.0001, delta=0.001, window=1000))
    assert len(wide.serialize()) < 200
    assert ecm.EcmSketch.deserialize(wide.serialize()).is_empty
