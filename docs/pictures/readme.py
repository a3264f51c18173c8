"""Draw docs/pictures/readme.png: an item's arrivals in the last hour, over a day, exact and from the sketch."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import ecmsketch as ecm

DAY, STEP = 86_400, 300
ITEM = 4711


def main() -> None:
    """Fill a sketch, ask it every five minutes, check the answers and draw them."""
    rng = np.random.default_rng(7)
    events = 3_000_000
    ticks = np.sort((rng.normal(15, 5, events) % 24 * 3600).astype(np.int64))
    items = rng.zipf(1.3, events) % 5000
    rush = np.exp(-(((ticks / 3600 - 9.5) / 1.2) ** 2)) * 0.06
    attack = 0.25 * ((ticks > 19 * 3600) & (ticks < 19.75 * 3600))
    items = np.where(rng.random(events) < rush + attack, ITEM, items)

    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.02, delta=0.01, window=DAY))
    moments, exact, answers = [], [], []
    for begin in range(0, DAY, STEP):
        batch = (ticks >= begin) & (ticks < begin + STEP)
        sketch.update_many(items[batch], ticks[batch])
        sketch.advance(begin + STEP - 1)
        moments.append((begin + STEP) / 3600)
        exact.append(((items == ITEM) & (ticks > sketch.now - 3600) & (ticks <= sketch.now)).sum())
        answers.append(sketch.estimate(ITEM, last=3600))
    lower, value, upper = (np.array([getattr(a, part) for a in answers]) for part in ("lower", "value", "upper"))
    assert (lower <= exact).all()
    assert (exact <= upper).all()

    figure, axes = plt.subplots(figsize=(8, 3.4), dpi=110)
    axes.fill_between(moments, lower, upper, color="#c6dbef", label="bounds, probability 0.993")
    axes.plot(moments, value, color="#08519c", linewidth=1.6, label="sketch")
    axes.plot(moments, exact, "--", color="#de2d26", linewidth=1.2, label="exact")
    axes.set_xlim(0, 24)
    axes.set_ylim(0)
    axes.set_xticks(range(0, 25, 3), [f"{hour}:00" for hour in range(0, 25, 3)])
    axes.set_ylabel(f"item {ITEM} in the last hour")
    size = f"{len(sketch.serialize()) / 1e6:.1f} MB as bytes"
    axes.set_title(f"One sketch of 3,000,000 generated events, {size}, asked every five minutes", fontsize=10)
    axes.legend(loc="upper left", frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("readme.png"), metadata={"Software": None})


if __name__ == "__main__":
    main()
