"""Changes of waves happen as a whole or not at all, whatever allocation fails."""

from __future__ import annotations

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.engines.cells import arrivals as coming
from ecmsketch.engines.cells.deterministic_wave import DeterministicWaves
from ecmsketch.engines.cells.randomized_wave import RandomizedWaves
from ecmsketch.kernels import memory
from streams import ticks_of

KINDS = {"dw": DeterministicWaves, "rw": RandomizedWaves}


def stream_of(config, seed, batches=8):
    rng, now = np.random.default_rng(seed), 0
    for _ in range(batches):
        ticks = now + ticks_of("bursts", 400, 300, rng)
        ticks += max(now - int(ticks[0]), 0)
        now = int(ticks[-1])
        items = rng.integers(0, 40, len(ticks)).astype(np.uint64)
        weights = rng.choice([1, 2, 100, 10**7], len(ticks)).astype(np.int64) if rng.random() < 0.5 else None
        yield coming.hashed(items, config.rows, ticks, weights, 37), int(ticks[0]), now


def until_it_works(operation, check):
    """Let the first allocation fail, then the second ...; returns the result and how many failed."""
    failed = 0
    while True:
        memory.fail_after(failed)
        try:
            return operation(), failed
        except MemoryError:
            memory.fail_after(-1)
            check()
            failed += 1
        finally:
            memory.fail_after(-1)


@pytest.mark.parametrize("counter", KINDS)
def test_without_memory_nothing_changes(counter):
    config = ecm.SketchConfig(epsilon=0.3, delta=0.3, window=300, counter=counter, wave_instances=2)
    failing, plain = KINDS[counter](config), KINDS[counter](config)
    failures = 0
    for batch in stream_of(config, 1):
        now = batch[2]
        before = failing.encode(now), failing.nbytes, failing.base, failing.version

        def unchanged(before=before, now=now):
            assert (failing.encode(now), failing.nbytes, failing.base, failing.version) == before

        change, failed = until_it_works(lambda batch=batch: failing.reserve(*batch), unchanged)
        failures += failed
        unchanged()
        memory.fail_after(0)  # committing allocates nothing
        change.commit()
        memory.fail_after(-1)
        plain.reserve(*batch).commit()
        assert failing.encode(now) == plain.encode(now)
    assert failures >= 8
    data = plain.encode(now)
    array = np.frombuffer(data, np.uint8)
    for operation in (
        plain.copy,
        lambda: KINDS[counter].decode(array, config, now, 2**30),
        lambda: KINDS[counter].concat([plain], now),
    ):
        result, failed = until_it_works(operation, lambda: None)
        assert failed
        if counter == "dw":
            assert result.encode(now) == data
    assert plain.encode(now) == data


@pytest.mark.parametrize("counter", KINDS)
def test_a_wave_that_was_never_fed_has_bytes_and_readings(counter):
    config = ecm.SketchConfig(epsilon=0.3, delta=0.3, window=300, counter=counter)
    waves = KINDS[counter](config)
    change = waves.reserve(coming.placed(np.zeros((1, 0), np.uint32), np.empty(0, np.int64), None), 0, 0)
    change.commit()
    again = KINDS[counter].decode(np.frombuffer(waves.encode(5), np.uint8), config, 5, 2**30)
    assert again.encode(5) == waves.encode(5)
    assert again.read(np.arange(3, dtype=np.uint32), 0, 5, 0).upper.tolist() == [0, 0, 0]
    assert waves.bucket_count == 0
