"""The page of numbers in order (PrefixSketch): their quantiles with bounds, which follow range and sites."""

from __future__ import annotations

import numpy as np
import pytest
from known_stores import NOW, write
from page_reading import choose_range

import ecmsketch as ecm

CONFIG = ecm.SketchConfig(epsilon=0.01, delta=0.01, window=86_400, unit="s", merge_depth=1)
SHARES = {"50%": 0.5, "75%": 0.75, "90%": 0.9, "95%": 0.95, "99%": 0.99, "99.9%": 0.999}
SITES = {"berlin": 200, "paris": 1000}


@pytest.fixture(scope="module")
def numbers():
    """Milliseconds by site: those of the last minute, and those of half an hour ago, which are ten times as long."""
    rng = np.random.default_rng(5)
    return {site: (rng.integers(0, most, 3000), rng.integers(0, 10 * most, 3000)) for site, most in SITES.items()}


@pytest.fixture(scope="module")
def address(serve, numbers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("numbers")
    sketches = {}
    for site, (lately, earlier) in numbers.items():
        sketches[site] = ecm.PrefixSketch(CONFIG, bits=14)
        sketches[site].update_many(np.concatenate([earlier, lately]), np.repeat([NOW - 1800, NOW], 3000))
    write(folder / "store", sketches)
    return serve(folder / "store", folder / "alerts").address


def quantiles(page):
    """Shares, with the number and its bounds."""
    page.wait_for_selector(".ecm-quantiles .ecm-count")
    found = {}
    for row in page.locator(".ecm-quantiles div.ecm-row").all():
        value, bounds = (row.locator(part).inner_text().replace(",", "") for part in (".ecm-count", ".ecm-bounds"))
        low, high = bounds.split(" to ") if " to " in bounds else (value, value)
        found[row.locator(".ecm-name").inner_text()] = int(low), int(value), int(high)
    return found


def wait_for_median(page, low, high):
    page.wait_for_function(
        """([low, high]) => {
          const text = document.querySelector(".ecm-quantiles .ecm-count")?.textContent.replaceAll(",", "");
          return text && low <= Number(text) && Number(text) <= high;
        }""",
        arg=[low, high],
        timeout=40_000,
    )


def hold(shown, truth):
    assert list(shown) == list(SHARES)
    for share, (low, value, high) in shown.items():
        assert low <= np.quantile(truth, SHARES[share], method="inverted_cdf") <= high, share
        assert low <= value <= high


def test_quantiles_hold_the_truth_and_follow_range_and_sites(open_page, address, numbers):
    page = open_page(address)
    choose_range(page, "5m")
    lately = np.concatenate([given[0] for given in numbers.values()])
    wait_for_median(page, 0.8 * np.median(lately), 1.2 * np.median(lately))
    hold(quantiles(page), lately)
    assert not page.locator(".ecm-changes").is_visible(), "what rose and fell needs names"

    choose_range(page, "1h")
    everything = np.concatenate([part for given in numbers.values() for part in given])
    wait_for_median(page, 0.8 * np.median(everything), 1.2 * np.median(everything))
    hold(quantiles(page), everything)

    one = np.concatenate(numbers["paris"])
    page.goto(f"{address}?last=3600&site=paris")
    wait_for_median(page, 0.8 * np.median(one), 1.2 * np.median(one))
    hold(quantiles(page), one)
