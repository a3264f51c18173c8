"""What a page shows, as a test reads it."""

from __future__ import annotations

BUSIEST = ".ecm-busiest button.ecm-row"


def rows(page, selector=BUSIEST):
    """Names and counts of a list, in order, once it has some."""
    page.wait_for_selector(selector)
    return [
        (row.locator(".ecm-name").inner_text(), int(row.locator(".ecm-count").inner_text().replace(",", "")))
        for row in page.locator(selector).all()
    ]


def wait_for_first(page, name, timeout=40_000):
    """Wait until an item is the busiest."""
    page.wait_for_function(
        "([selector, name]) => document.querySelector(selector + ' .ecm-name')?.textContent === name",
        arg=[BUSIEST, name],
        timeout=timeout,
    )


def choose_range(page, text):
    """Click a preset."""
    page.locator(".ecm-presets button", has_text=text).filter(has_text=text).first.click()


def pick(page, name):
    """Click an item of the busiest, and wait for its history."""
    page.locator(BUSIEST, has_text=name).first.click()
    page.wait_for_selector(f".ecm-about .ecm-name:text-is('{name}')")


SERIES = """async () => {
  const { echarts } = await import("nicegui-echart");
  const chart = echarts.getInstanceByDom(document.querySelector(".ecm-chart"));
  return chart ? chart.getOption().series.map((line) => line.data) : [];
}"""


BAND = f"async () => Math.max(...((await ({SERIES})())[1] ?? [0])) > 0"
"""Whether the band of the first line is seen."""


def chart_lines(page):
    """The lines of the chart, each as lower bounds, heights of the band, and values."""
    page.wait_for_selector(".ecm-chart canvas")
    series = page.evaluate(SERIES)
    return [series[place : place + 3] for place in range(0, len(series), 3)]
