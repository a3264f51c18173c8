"""Which items rose or fell most between two ranges: bounds against exact counts, and what cannot be seen."""

from __future__ import annotations

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch.kernels.hashing import mix

WINDOW = 4000


def trial(counter: str, seed: int, **changes):
    """A stream in which some items rise and others fall in the last 1,000 ticks; exact counts of both ranges."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, 2001)
    old = rng.choice(2000, 40_000, p=weights / weights.sum())
    weights[[40, 41]], weights[[0, 3]] = 0.4, 0.01
    new = rng.choice(2000, 20_000, p=weights / weights.sum())
    items, ticks = np.concatenate([old, new]), np.concatenate([np.arange(40_000) // 20, 2000 + np.arange(20_000) // 20])
    config = ecm.SketchConfig(
        **{
            "epsilon": 0.02, "delta": 0.05, "window": WINDOW, "counter": counter, "resolution": 0.1, "seed": seed,
            "heavy_hitters": True, **changes,
        }
    )  # fmt: skip
    sketch = ecm.EcmSketch(config, site="here")
    sketch.update_many(mix(items.astype(np.uint64)), ticks)
    counts = [np.bincount(items[(ticks > a) & (ticks <= b)], minlength=2000) for a, b in ((1999, 2999), (999, 1999))]
    names = mix(np.arange(2000, dtype=np.uint64)).tolist()
    return sketch, dict(zip(names, zip(*counts, strict=True), strict=True)), names


@pytest.mark.parametrize("counter", ["slices", "eh", "dw", "rw"])
def test_what_changed_most_is_found(counter):
    sketch, _, names = trial(counter, 0, epsilon=0.05 if counter == "rw" else 0.02)
    rose, fell, changed = (sketch.heavy_changes(2, 1000, by=by) for by in ("rise", "fall", "change"))
    assert {each.item for each in rose} == {names[40], names[41]}
    assert {each.item for each in fell} == {names[0], names[3]}
    assert fell[0].item == changed[0].item == names[0]
    assert rose[0].change.value > 0 > fell[0].change.value
    assert rose[0].change.value >= rose[1].change.value
    for each in (*rose, *fell):
        assert each.change.lower <= each.change.value <= each.change.upper


def test_bounds_hold_as_often_as_they_say():
    failed = []
    for seed in range(12):
        sketch, counts, _ = trial(("slices", "eh")[seed % 2], seed)
        found = sketch.heavy_changes(50, 1000)
        for item, change, newer, older in found:
            new, old = counts[item]
            assert new <= newer.upper
            assert old <= older.upper
            failed.append(not change.covers(new - old))
    assert len(failed) >= 400
    assert np.mean(failed) <= 0.05 + 3 * np.sqrt(0.05 / len(failed))


@pytest.mark.parametrize("counter", ["slices", "eh"])
def test_items_without_a_name_changed_little(counter):
    sketch, counts, _ = trial(counter, 5)
    found = sketch.heavy_changes(1, 1000)
    named = {key for since in (1999, 999) for key in sketch._named_items()._names_in(since, since + 1000)[0].tolist()}
    others = [counts[item] for item in counts if item not in named]
    assert others
    assert found.missed_rise < 0.05 * 20_000
    for new, old in others:
        assert -found.missed_fall <= new - old <= found.missed_rise


def test_certain_bounds_always_hold():
    for seed in range(3):
        sketch, counts, _ = trial("slices", seed)
        for each in sketch.heavy_changes(200, 1000, 1000, confidence=1):
            new, old = counts[each.item]
            assert each.change.covers(new - old)
            assert each.change.confidence == 1


def test_ranges_of_different_length():
    sketch, counts, _ = trial("slices", 1)
    found = sketch.heavy_changes(5, last=1000, before=500)
    assert found[0].older.upper < sketch.heavy_changes(5, last=1000)[0].older.upper * 0.7
    assert len(found) == 5
    assert found[0].item in counts


def test_questions_are_checked():
    sketch, _, _ = trial("slices", 2)
    for ask, message in (
        (lambda: sketch.heavy_changes(0, 100), "heavy_changes: expected a number of items, 1 or more, got 0"),
        (lambda: sketch.heavy_changes(5, 3000), "fit into the window"),
        (lambda: sketch.heavy_changes(5, 100, -5), "fit into the window"),
        (lambda: sketch.heavy_changes(5, 100, by="size"), "by='change', 'rise' or 'fall', got 'size'"),
    ):
        with pytest.raises(ecm.errors.QueryError, match=message):
            ask()
    assert len(ecm.EcmSketch(sketch.config).heavy_changes(5, 100)) == 0
