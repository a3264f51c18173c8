"""A generated day of web traffic at four sites: count it, ask, merge, and compare with the truth."""

from __future__ import annotations

import time

import numpy as np

import ecmsketch as ecm

DAY = 86_400
SITES = ("amsterdam", "london", "paris", "rome")
EVENTS = 1_000_000
PAGES = np.array([f"/page/{i}" for i in range(2000)])


def traffic(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Page numbers and ticks (seconds): Zipf pages, more in the evening, and page 42 goes viral at eight."""
    rng = np.random.default_rng(seed)
    hours = rng.normal(16, 5, EVENTS) % 24
    ticks = np.sort((hours * 3600).astype(np.int64))
    pages = rng.zipf(1.3, EVENTS) % len(PAGES)
    viral = (ticks > 20 * 3600) & (rng.random(EVENTS) < 0.2)
    return np.where(viral, 42, pages), ticks


def main() -> None:
    config = ecm.SketchConfig(epsilon=0.01, delta=0.01, window=DAY, unit="s", merge_depth=1)
    print(config.describe(EVENTS))

    ecm.EcmSketch(config).update_many(PAGES[:2], [1, 2])  # compiles what is timed below
    streams = {site: traffic(seed) for seed, site in enumerate(SITES)}
    sketches = {}
    print(f"\nEach site counts its own {EVENTS:,} requests:")
    for site, (pages, ticks) in streams.items():
        sketch = ecm.EcmSketch(config)
        begin = time.perf_counter()
        sketch.update_many(PAGES[pages], ticks)
        seconds = time.perf_counter() - begin
        sent = sketch.serialize()
        print(f"  {site:<10} {EVENTS / seconds / 1e6:5.1f} M events/s, {sketch.nbytes:,} bytes, {len(sent):,} sent")
        sketches[site] = ecm.EcmSketch.deserialize(sent)

    everywhere = ecm.merge(sketches.values())
    pages = np.concatenate([pages for pages, _ in streams.values()])
    ticks = np.concatenate([ticks for _, ticks in streams.values()])
    print(f"\nMerged: {everywhere.epsilon:.4f} is what point queries hold now, of {config.epsilon} promised")

    print(f"\n{'page':<10} {'range':<14} {'exact':>9} {'estimate':>9}   bounds")
    for page in (1, 2, 42, 1234):
        for name, last in (("last minute", 60), ("last hour", 3600), ("the whole day", DAY)):
            exact = int(((pages == page) & (ticks > everywhere.now - last)).sum())
            answer = everywhere.estimate(PAGES[page].item(), last=last)
            assert answer.covers(exact)
            bounds = f"[{answer.lower:,.0f}, {answer.upper:,.0f}]"
            print(f"{PAGES[page]:<10} {name:<14} {exact:>9,} {answer.value:>9,.0f}   {bounds}")
    viral = everywhere.estimate("/page/42", between=(19 * 3600, 20 * 3600)), everywhere.estimate("/page/42", last=3600)
    print(f"\n/page/42 between seven and eight: {viral[0].value:,.0f}; in the last hour: {viral[1].value:,.0f}")
    print("Every exact number lies inside its bounds.")


if __name__ == "__main__":
    main()
