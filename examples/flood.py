"""Notice a flood of requests for a page that nobody named beforehand, spread over 33 busy servers, and name it."""

from __future__ import annotations

import numpy as np

import ecmsketch as ecm
from ecmsketch.generate import WorldCupLog
from ecmsketch.monitor import AnyItem, Coordinator, Site, Watch
from ecmsketch.worldcup98 import SERVERS, to_columns

LAST, EVERY = 600, 30
"""The watched range and the time between two checks, in seconds."""
PAGE, FLOOD = 4242, (50_000, 50_600)


def main() -> None:
    servers, pages, ticks = requests()
    config = ecm.SketchConfig(epsilon=0.01, delta=0.1, window=LAST, heavy_hitters=True)
    watch = Watch(AnyItem(10_000), last=LAST, sketch=config)
    sites = {f"server {number}": Site(f"server {number}", watch) for number in SERVERS}
    coordinator = Coordinator(watch, sites)
    sent = bytes_sent = alerts = 0
    for now in range(int(ticks[0]) + EVERY, int(ticks[-1]), EVERY):
        reports = []
        since = np.searchsorted(ticks, now - EVERY)
        for number, site in zip(SERVERS, sites.values(), strict=True):
            new = slice(since, np.searchsorted(ticks, now))
            mine = servers[new] == number
            if mine.any():
                site.observe(pages[new][mine], ticks[new][mine], check=False)
            reports += site.tick(now)
        while reports:  # reports go to the coordinator, and its answers may cause new reports
            answers = coordinator.receive(*reports)
            sent += len(reports) + len(answers)
            bytes_sent += sum(map(len, reports)) + sum(len(answer) for _, answer in answers)
            reports = [report for name, answer in answers for report in sites[name].receive(answer)]
        for alert in coordinator.alerts[alerts:]:
            most = ", ".join(f"{site.site}: {site.value:,.0f}" for site in alert.sites[:3])
            way = "ALERT" if alert.region else "over"
            print(f"{clock(alert.tick)}  {way}: page {alert.item} has {alert.value:,.0f} requests; {most}, ...")
        alerts = len(coordinator.alerts)
    print(f"\nThe flood of page {PAGE} was from {clock(FLOOD[0])} to {clock(FLOOD[1])}.")
    print(
        f"{sent:,} messages, {bytes_sent:,} bytes; the requests themselves: {len(ticks):,}, {16 * len(ticks):,} bytes."
    )


def requests() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The servers, pages and seconds of generated requests, with the flood among them."""
    log = WorldCupLog(3_000_000, day=66, all_servers=True)
    columns = [to_columns(log.slice(index)) for index in range(log.slices)]
    servers, pages, ticks = (
        np.concatenate([part[name] for part in columns]) for name in ("server", "object", "timestamp")
    )
    ticks = ticks - ticks[0]
    usual = (ticks >= 45_000) & (ticks < 54_000)
    rng = np.random.default_rng(0)
    flood = rng.integers(*FLOOD, 30_000)
    servers = np.concatenate([servers[usual], rng.choice(SERVERS, len(flood))])
    pages = np.concatenate([pages[usual], np.full(len(flood), PAGE)])
    ticks = np.concatenate([ticks[usual], flood])
    order = np.argsort(ticks, kind="stable")
    return servers[order], pages[order], ticks[order]


def clock(tick: int) -> str:
    return f"{tick // 3600:02d}:{tick % 3600 // 60:02d}:{tick % 60:02d}"


if __name__ == "__main__":
    main()
