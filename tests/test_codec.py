from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.errors import EcmError, FormatError
from ecmsketch.sketch.codec import _read_header
from golden.make import EXAMPLES, path_of
from hand_written import config_bytes, sealed, sketch_bytes, state_bytes, varint

GOLDEN = Path(__file__).parent / "golden"
FUZZ_SEEDS = sorted(EXAMPLES)


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

    @pytest.mark.parametrize("field", range(6, 60))
    def test_absurd_fields_with_a_good_checksum_never_get_far(self, field):
        """Headers that promise billions of counters, buckets or arrivals are refused before anything is allocated."""
        for pattern in (b"\xff" * 8, b"\x7f" * 8, b"\x00" * 8, b"\x01" + b"\x00" * 7, b"\xff" * 7 + b"\x01", b"\x80"):
            body = bytearray(self.good[:-8])
            body[field : field + len(pattern)] = pattern
            survive(sealed(bytes(body)))


def header(epsilon=0.9, delta=0.5, content=b"", **state):
    """A sketch as an adversary would write it by hand."""
    return sketch_bytes(config_bytes(epsilon, delta, late="side"), state_bytes(**state), content)


CELLS = b"\0" + bytes([2, 2, 1, 1]) * 6
ARRIVALS = {"flags": 7, "now": 1000, "origin": 990, "sizes": (25, 0), "content": CELLS}
FAR = 2**62


@pytest.mark.parametrize(
    "fields",
    [
        {"epsilon": 1e-17}, {"delta": 1e-309}, {"flags": 3, "now": 100, "origin": 50}, {"flags": 2}, {"flags": 128},
        {"flags": 1, "now": FAR + 1}, {"flags": 1, "now": -(2**61) - 1}, {"flags": 64, "levels": 0},
        {"flags": 33, "late": (0, 0, 0, 0)}, {"flags": 33, "late": (0, 0, FAR + 1, 0)},
        {"flags": 33, "late": (0, FAR + 1, 0, 0)}, {"flags": 33, "late": (0, 0, 0, 2**60)},
        {"flags": 33, "late": (2**61 + 1, 1, 0, 0)}, {"flags": 33, "late": (2**63, 1, 0, 0)},
        {"flags": 65, "levels": 65}, {"flags": 4, "now": 1000, "sizes": (25, 0), "content": CELLS},
        {"epsilon": 1e-6, "flags": 7, "now": 1, "origin": 1}, {"flags": 16}, {**ARRIVALS, "origin": -(2**61) - 1},
        {**ARRIVALS, "sizes": (24, 0)}, {**ARRIVALS, "sizes": (26, 0)}, {**ARRIVALS, "kinds": 1}, {"kinds": 1},
        {"flags": 15, "now": 1000, "origin": 990, "sizes": (25, 0), "content": CELLS}, {"content": b"\0"},
    ],
)  # fmt: skip
def test_impossible_states_are_refused(fields):
    with pytest.raises(FormatError):
        ecm.EcmSketch.deserialize(header(**fields))


def test_the_hand_written_header_is_right():
    assert ecm.EcmSketch.deserialize(header(flags=33, now=100, late=(0, 0, 3, 0))).late_dropped == 3
    sketch = ecm.EcmSketch.deserialize(header(**ARRIVALS))
    assert (sketch.now, sketch.first_tick, sketch.total().value) == (1000, 990, 12.0)
    for now in (FAR, -(2**61)):
        assert ecm.EcmSketch.deserialize(header(flags=65, now=now, levels=64)).now == now


WRITTEN = {"seed": 2**64 - 1, "merge_depth": 64, "lateness": 0, "resolution": 1e-6, "max_arrivals": 1,
           "wave_constant": 1.0, "wave_instances": 99}  # fmt: skip


@pytest.mark.parametrize("count", range(len(WRITTEN) + 1))
def test_the_hand_written_config_is_right(count):
    given = dict(list(WRITTEN.items())[:count])
    data = sketch_bytes(config_bytes(**given, choices=7 << 9, late="drop"), state_bytes())
    config = ecm.EcmSketch.deserialize(data).config
    assert config == ecm.SketchConfig(epsilon=0.9, delta=0.5, window=50, unit="D", late="drop", counter="eh", **given)
    assert ecm.EcmSketch(config).serialize() == data


def test_sketches_whose_items_were_not_mixed_are_refused_and_the_error_says_what_to_do():
    with pytest.raises(FormatError, match=r"hashing rule 0, and only rule 1 is known here; build the sketch again"):
        ecm.EcmSketch.deserialize(sketch_bytes(config_bytes(hashing=0), state_bytes()))


GOOD = config_bytes()
EMPTY = state_bytes()


OTHER_CONFIGS = [
    {"seed": 0}, {"merge_depth": 0}, {"wave_instances": 1}, {"max_arrivals": 0}, {"wave_constant": 0.0},
    {"lateness": 51}, {"resolution": 0.0}, {"resolution": 1.0}, {"resolution": float("nan")}, {"wave_instances": 100},
    {"merge_depth": 65}, {"seed": 2**64}, {"window": 0}, {"window": 2**59 + 1}, {"more": 128}, {"choices": 4},
    {"choices": 7}, {"choices": 3 << 7}, {"hashing": 0}, {"hashing": 2}, {"more": 1}, {"domain": (8, 2)},
]  # fmt: skip


@pytest.mark.parametrize(
    "config",
    [
        *(config_bytes(**fields) for fields in OTHER_CONFIGS),
        GOOD + b"\0", GOOD[:-1], GOOD[:18], b"", GOOD[:-1] + varint(50, 1), GOOD[:-1] + varint(50, 12),
        config_bytes(counter="rw"),
    ],
)  # fmt: skip
def test_other_encodings_of_a_config_are_refused(config):
    assert ecm.EcmSketch.deserialize(sketch_bytes(GOOD, EMPTY)).is_empty
    with pytest.raises(FormatError):
        ecm.EcmSketch.deserialize(sketch_bytes(config, EMPTY))


@pytest.mark.parametrize(
    "state",
    [
        EMPTY + b"\0", b"", EMPTY[:-1], b"\1" + varint(7, 1) + b"\0", b"\1" + b"\xff" * 9 + b"\x02\0",
        b"\0" + varint(0, 1), state_bytes(key=7),
    ],
)  # fmt: skip
def test_other_encodings_of_a_state_are_refused(state):
    with pytest.raises(FormatError):
        ecm.EcmSketch.deserialize(sketch_bytes(GOOD, state))


@pytest.mark.parametrize("domain", [(0, 4), (65, 4), (8, 0), (8, 9), (8, 255), (8,), (8, 4, 0), ()])
def test_domains_that_are_none_are_refused(domain):
    assert ecm.PrefixSketch.deserialize(sketch_bytes(config_bytes(domain=(8, 4)), EMPTY, kind=1)).config.radix == 16
    with pytest.raises(FormatError):
        ecm.PrefixSketch.deserialize(sketch_bytes(config_bytes(domain=domain), EMPTY, kind=1))


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
    survive(sealed(b"ECMS\x01\x00\x14" + data))


def test_memoryviews_and_bytearrays_are_read_too():
    data = TestRefusals.good
    assert ecm.EcmSketch.deserialize(bytearray(data)) == ecm.EcmSketch.deserialize(memoryview(data))


def test_bytes_per_bucket_with_one_second_ticks():
    rng = np.random.default_rng(0)
    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.1, delta=0.1, window=10**6, counter="eh"))
    sketch.update_many(rng.zipf(1.3, 1_000_000) % 90_000, np.sort(rng.integers(0, 10**6, 1_000_000)))
    assert len(sketch.serialize()) / sketch.bucket_count <= 2.5


def test_an_empty_sketch_is_a_few_bytes_however_wide():
    wide = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.0001, delta=0.001, window=1000, counter="eh"))
    assert len(wide.serialize()) <= 40
    assert ecm.EcmSketch.deserialize(wide.serialize()).is_empty


def header_size(sketch) -> int:
    """The bytes of a sketch without its item kinds and what it counted."""
    data = sketch.serialize()
    _, header, begin = _read_header(data, len(data) - 8)
    assert begin + header.kinds_size + header.counters_size + header.settled_size <= len(data) - 8
    return begin + 8


def test_what_is_around_the_counters_is_small():
    config = ecm.SketchConfig(epsilon=0.01, delta=0.01, window=86_400)
    assert header_size(ecm.EcmSketch(config)) <= 60
    for unit, second in (("s", 1), ("ms", 10**3), ("us", 10**6)):
        more = {"late": "side", "lateness": 600 * second, "merge_depth": 2, "resolution": 0.05, "seed": 3}
        sketch = ecm.EcmSketch(config.replace(unit=unit, window=86_400 * second, **more))
        sketch.update_many(np.arange(1000), (1_700_000_000 + 60 * np.arange(1000)) * second)
        sketch.update_many(np.arange(20), sketch.now - (1 + 20 * np.arange(20)) * second)
        sketch.advance(sketch.now + 300 * second)
        assert sketch.late_counted == 20
        assert header_size(sketch) <= 90
