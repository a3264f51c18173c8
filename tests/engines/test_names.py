"""Candidates for heavy hitters: their bounds hold, little is missed, and a value is never changed."""

from __future__ import annotations

import signal
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.engines.names.frequent import FrequentItems, combine, summary_params
from ecmsketch.engines.names.summaries import COARSENESS
from ecmsketch.errors import FormatError
from ecmsketch.kernels import memory
from streams import cuts, streams, zipf_items

WINDOW = 1000


def make(**changes):
    return ecm.SketchConfig(**{"epsilon": 0.1, "delta": 0.05, "window": WINDOW, "heavy_hitters": True, **changes})


def fed(config, items, ticks, weights=None):
    return FrequentItems.new(config).added(items.astype(np.uint64), ticks, weights)


def exact_counts(items, ticks, weights, since, until):
    inside = (ticks > since) & (ticks <= until)
    keys, where = np.unique(items[inside], return_inverse=True)
    return dict(zip(keys.tolist(), np.bincount(where, weights[inside]).astype(int).tolist(), strict=True))


def check_candidates(found, exact, most=None):
    named = dict(zip(found.keys.tolist(), zip(found.lower.tolist(), found.upper.tolist(), strict=True), strict=True))
    for key, count in exact.items():
        lower, upper = named.get(key, (0, found.missed))
        assert lower <= count <= upper
    for key, (lower, _) in named.items():
        assert lower <= exact.get(key, 0)
    if most is not None:
        assert found.missed <= most * sum(exact.values())


class TestBounds:
    @given(data=st.data(), stream=streams(WINDOW, most=8000), seed=st.integers(0, 2**32))
    def test_they_always_hold_and_little_is_missed(self, data, stream, seed):
        rng = np.random.default_rng(seed)
        config = make(epsilon=data.draw(st.sampled_from([0.3, 0.1, 0.02])))
        items = zipf_items(len(stream.ticks), 300, rng, data.draw(st.sampled_from([0.3, 1.1, 2.0]))).astype(np.uint64)
        weights = np.ones(len(items), np.int64) if stream.weights is None else stream.weights
        frequent = fed(config, items, stream.ticks, stream.weights)
        now = int(stream.ticks[-1])
        for last in (1, 30, 400, WINDOW):
            found = frequent.candidates(now - last, now)
            check_candidates(found, exact_counts(items, stream.ticks, weights, now - last, now), config.epsilon)
        since, until = sorted(rng.integers(now - WINDOW, now + 1, 2).tolist())
        check_candidates(frequent.candidates(since, until), exact_counts(items, stream.ticks, weights, since, until))

    @given(stream=streams(WINDOW, most=8000), sites=st.integers(2, 12), seed=st.integers(0, 2**32))
    def test_they_hold_after_merging(self, stream, sites, seed):
        rng = np.random.default_rng(seed)
        config = make(merge_depth=1)
        items = zipf_items(len(stream.ticks), 300, rng).astype(np.uint64)
        weights = np.ones(len(items), np.int64) if stream.weights is None else stream.weights
        owner = rng.integers(0, sites, len(items))
        mine = [owner == site for site in range(sites)]
        parts = [fed(config, items[own], stream.ticks[own], weights[own]) for own in mine]
        now = int(stream.ticks[-1])
        merged = combine(parts, config, now)
        for last in (1, 30, 400, WINDOW):
            exact = exact_counts(items, stream.ticks, weights, now - last, now)
            check_candidates(merged.candidates(now - last, now), exact, config.epsilon)

    @pytest.mark.parametrize("per_tick", [1, 7])
    def test_they_hold_where_summaries_begin_and_end(self, per_tick):
        """A range begins after `since`: what came on that tick is not in it, even if a summary begins there."""
        rng = np.random.default_rng(3)
        items = zipf_items(12_000, 10, rng, 1.5).astype(np.uint64)  # so few that all counts are exact
        ticks, weights = np.arange(12_000) // per_tick, np.ones(12_000, np.int64)
        frequent = fed(make(window=10**6), items, ticks)
        first, last = frequent.summaries.first.tolist(), frequent.summaries.last.tolist()
        assert len(first) > 5
        for begin, end in zip(first, last, strict=True):
            for since in (begin - 1, begin, end - 1, end):
                for until in (begin - 1, begin, end - 1, end, int(ticks[-1])):
                    if since <= until:
                        exact = exact_counts(items, ticks, weights, since, until)
                        check_candidates(frequent.candidates(since, until), exact)

    @pytest.mark.parametrize("depth", [0, 1, 2])
    def test_no_more_is_missed_than_promised_and_that_is_hardly_less(self, depth):
        """All items differ, which errs most. A range begins just before a summary ends, which errs for nothing. Every
        level of merging adds another stream of which a summary ends just before that one.
        """
        epsilon, rng = 0.1, np.random.default_rng(depth)
        config = make(epsilon=epsilon, merge_depth=depth, window=10**9)
        params = summary_params(config)
        events = params.kept + 5 * params.rounds * params.taken  # summaries have just been joined
        ticks = [10 * np.arange(events)]
        frequent = fed(config, rng.integers(0, 2**63, events), ticks[0])
        now = int(ticks[0][-1])

        def missed_share(since):
            arrivals = sum(len(own) - np.searchsorted(own, since, side="right") for own in ticks)
            return frequent.candidates(since, now).missed / arrivals

        for _ in range(depth):
            end = max(frequent.summaries.last.tolist(), key=lambda last: missed_share(last - 1)) - 1
            ticks.append(np.append(np.sort(rng.integers(0, end, 40_000)), end))
            frequent = combine([frequent, fed(config, rng.integers(0, 2**63, 40_001), ticks[-1])], config, now)
        worst = max(missed_share(last - 1) for last in frequent.summaries.last.tolist())
        assert worst <= epsilon
        smaller = ceil((1 + 1 / COARSENESS) ** depth / epsilon)
        assert worst * (params.size + 1) / (smaller + 1) > epsilon, "with a level less in the size it would be more"

    @pytest.mark.parametrize(("epsilon", "depth", "size"), [(0.1, 0, 13), (0.1, 1, 16), (0.1, 2, 20), (0.01, 3, 245)])
    def test_names_in_a_summary(self, epsilon, depth, size):
        params = summary_params(make(epsilon=epsilon, merge_depth=depth))
        assert params.size == size == ceil(1.25 ** (depth + 1) / epsilon)
        assert (params.kept, params.taken) == (max(1024, 8 * size), 2 * max(1024, 8 * size))


def test_the_state_does_not_depend_on_how_batches_are_cut():
    rng = np.random.default_rng(0)
    for model in ("time", "count"):
        config = make(window=20_000, model=model)
        for weighted in (False, True):
            items = zipf_items(30_000, 500, rng).astype(np.uint64)
            weights = rng.choice([1, 1, 5, 90], len(items)) if weighted else None
            ticks = np.arange(1, len(items) + 1) if weights is None else np.cumsum(weights)
            whole = fed(config, items, ticks, weights)
            for pieces in (3, 40, 300):
                cut = FrequentItems.new(config)
                for part in cuts(len(items), pieces, rng):
                    cut = cut.added(items[part], ticks[part], None if weights is None else weights[part])
                assert cut.encode(int(ticks[-1])) == whole.encode(int(ticks[-1]))


def test_names_are_few_however_long_the_stream():
    rng = np.random.default_rng(0)
    config = make(window=10**9)
    frequent = FrequentItems.new(config)
    sizes = []
    for part in range(8):
        items = rng.integers(0, 2**63, 200_000).astype(np.uint64)
        frequent = frequent.added(items, part * 200_000 + np.arange(200_000))
        sizes.append(len(frequent.keys(10**7)))
    params = summary_params(config)
    assert max(sizes) < params.kept + params.taken + 1000
    assert frequent.candidates(0, 10**7).missed <= 0.1 * 1_600_000


def test_late_arrivals_are_merged_in():
    rng = np.random.default_rng(5)
    config = make(window=10**6)
    items, ticks = rng.integers(0, 40, 9000).astype(np.uint64), np.sort(rng.integers(0, 9000, 9000))
    late = rng.random(9000) < 0.1
    frequent = fed(config, items[~late], ticks[~late])
    now = int(ticks[-1])
    frequent = frequent.with_late(items[late], ticks[late], None, config, now)
    check_candidates(frequent.candidates(-1, now), exact_counts(items, ticks, np.ones(9000), -1, now))


def busy():
    """A value with events of all widths, weights and summaries, and arrivals that make it do everything."""
    rng = np.random.default_rng(1)
    config = make(window=2**40)
    frequent = fed(config, rng.integers(0, 99, 20_000), np.arange(20_000), rng.integers(1, 5, 20_000))
    more = rng.integers(0, 10**6, 30_000).astype(np.uint64), np.sort(rng.integers(20_000, 2**36, 30_000))
    return config, frequent, more


class TestWholeOrNotAtAll:
    def test_without_memory_nothing_changes(self):
        config, frequent, (items, ticks) = busy()
        before, now = frequent.encode(20_000), int(ticks[-1])
        operations = [
            lambda: frequent.added(items, ticks),
            lambda: frequent.with_late(items[:9000], np.arange(9000), None, config, 20_000),
            lambda: combine([frequent, fed(config, items, ticks)], config, now),
        ]
        for operation in operations:
            expected, failures = operation().encode(now), 0
            while True:
                memory.fail_after(failures)
                try:
                    found = operation()
                except MemoryError:
                    failures += 1
                    continue
                finally:
                    memory.fail_after(-1)
                break
            assert failures > 2
            assert found.encode(now) == expected
            assert frequent.encode(20_000) == before

    def test_ctrl_c_interrupts_long_work(self):
        config = make(window=10**9)
        items, ticks = np.arange(12_000_000, dtype=np.uint64), np.arange(12_000_000)
        frequent = FrequentItems.new(config)

        def interrupt(*_):
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.002)
            with pytest.raises(KeyboardInterrupt):
                frequent.added(items, ticks)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert frequent.encode(0) == FrequentItems.new(config).encode(0)

    def test_values_share_nothing_that_changes(self):
        _, frequent, (items, ticks) = busy()
        before = frequent.encode(20_000)
        later = frequent.added(items, ticks)
        shifted = later.shifted(7)
        items[:], ticks[:] = 0, 0
        assert frequent.encode(20_000) == before
        assert shifted.shifted(-7).encode(2**36) == later.encode(2**36)
        assert len(later.keys(2**36)) > 1000  # they were copied before the caller changed them

    def test_wrong_columns_are_refused(self):
        frequent = FrequentItems.new(make())
        keys, ticks = np.zeros(5000, np.uint64), np.arange(5000)
        with pytest.raises(TypeError):
            frequent.added(keys.astype(np.int32), ticks)
        with pytest.raises(ValueError, match="one length"):
            frequent.added(keys, ticks[:4000])
        with pytest.raises(ValueError, match="one length"):
            frequent.added(keys[:10], ticks[:9])


class TestBytes:
    def test_what_was_written_is_read(self):
        config, frequent, (items, ticks) = busy()
        for value, now in (
            (FrequentItems.new(config), 0), (frequent, 20_000), (frequent.added(items, ticks), int(ticks[-1])),
        ):  # fmt: skip
            data = np.frombuffer(value.encode(now), np.uint8)
            assert FrequentItems.decode(data, config, now).encode(now) == data.tobytes()

    def test_changed_bytes_are_refused_or_sound(self):
        config, frequent, (items, ticks) = busy()
        data = np.frombuffer(frequent.encode(20_000), np.uint8)
        rng, refused = np.random.default_rng(0), 0
        for _ in range(300):
            changed = data.copy()
            changed[rng.integers(0, len(data) if rng.random() < 0.5 else 40)] = rng.integers(0, 256)
            changed = changed[: len(data) - int(rng.integers(0, 3)) * (rng.random() < 0.2)]
            try:
                found = FrequentItems.decode(changed, config, 20_000)
            except FormatError:
                refused += 1
                continue
            found.candidates(100, 20_000)
            found.added(items, ticks).encode(int(ticks[-1]))
            again = np.frombuffer(found.encode(20_000), np.uint8)
            assert FrequentItems.decode(again, config, 20_000).encode(20_000) == again.tobytes()
        assert refused > 50


def test_the_memory_that_is_told_is_what_is_held():
    _, frequent, (items, ticks) = busy()
    recent, summaries = frequent.recent, frequent.summaries
    arrays = [recent.keys, recent.offsets, recent.weights, summaries.words]
    held = sum(array.nbytes for array in arrays)
    assert held < frequent.nbytes < held + 1000
    assert FrequentItems.new(make()).nbytes < 500
    unweighted = FrequentItems.new(make()).added(items[:500], ticks[:500] % 2**30)
    assert unweighted.recent.offsets.dtype == np.uint32
