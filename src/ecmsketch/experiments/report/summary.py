"""The first page of the report: what is better, one grid of claims by data sets, and a reason for every cross."""

from __future__ import annotations

from ecmsketch.experiments.report.claims import Claim, Verdict
from ecmsketch.experiments.report.markdown import markdown_table
from ecmsketch.experiments.report.wins import what_is_better
from ecmsketch.experiments.results import StoredResult

Lines = list[str]


def summary(results: list[StoredResult], verdicts: list[Verdict]) -> Lines:
    """What a reader with five minutes needs. Reasons are numbered in the order of the grid."""
    streams = list(dict.fromkeys(verdict.data for verdict in verdicts))
    claims = list(dict.fromkeys(verdict.claim for verdict in verdicts))
    verdicts = sorted(
        verdicts,
        key=lambda one: (one.claim.source == "ours", claims.index(one.claim), streams.index(one.data)),
    )
    numbers = {id(verdict): number for number, verdict in enumerate(_failed(verdicts), 1)}
    return [
        *what_is_better(results), *_what_is_worse(verdicts, numbers), *_grid(verdicts, numbers), *_reasons(verdicts)
    ]  # fmt: skip


def _failed(verdicts: list[Verdict]) -> list[Verdict]:
    return [verdict for verdict in verdicts if not verdict.finding.holds]


def _what_is_worse(verdicts: list[Verdict], numbers: dict[int, int]) -> Lines:
    """Our own claims that do not hold, each with the streams."""
    where: dict[str, list[str]] = {}
    for verdict in _failed(verdicts):
        if verdict.claim.source == "ours":
            number = numbers[id(verdict)]
            where.setdefault(verdict.claim.text, []).append(f"{verdict.data} ([{number}](#why-{number}))")
    lines = [f"- *{text}*: not on {', '.join(streams)}." for text, streams in where.items()]
    return ["## What is worse", "", "What we claim, and where it does not hold:", "", *lines, ""] if lines else []


def _grid(verdicts: list[Verdict], numbers: dict[int, int]) -> Lines:
    streams = list(dict.fromkeys((verdict.data, verdict.label) for verdict in verdicts))
    claims = list(dict.fromkeys(verdict.claim for verdict in verdicts))
    groups = {"The paper's claims": [claim for claim in claims if claim.source != "ours"],
              "Our claims": [claim for claim in claims if claim.source == "ours"]}  # fmt: skip
    rows: list[tuple[str, ...]] = []
    for title, members in groups.items():
        rows += [(f"**{title}**", *("" for _ in streams))] if members else []
        rows += [_line(claim, streams, verdicts, numbers) for claim in members]
    held = len(verdicts) - len(numbers)
    return [
        "## What holds, and what does not",
        "",
        f"{held} of {len(verdicts)} checks hold. ✓ holds, ✗ does not and links to the measured reason, – was not run.",
        "",
        *markdown_table(("claim", *(f"{name} ({label})" for name, label in streams)), rows),
    ]


def _line(
    claim: Claim, streams: list[tuple[str, str]], verdicts: list[Verdict], numbers: dict[int, int]
) -> tuple[str, ...]:
    cells = []
    for data, _ in streams:
        found = next((verdict for verdict in verdicts if verdict.claim == claim and verdict.data == data), None)
        if found is None:
            cells.append("–")
        elif found.finding.holds:
            cells.append("✓")
        else:
            cells.append(f"[✗ {numbers[id(found)]}](#why-{numbers[id(found)]})")
    source = "" if claim.source == "ours" else f" ({claim.source})"
    return (claim.text + source, *cells)


def _reasons(verdicts: list[Verdict]) -> Lines:
    failed = _failed(verdicts)
    lines = [
        f'{number}. <a id="why-{number}"></a>**{verdict.claim.text}**, {verdict.data}: {verdict.finding.observed}. '
        f"Why: {verdict.finding.why}."
        for number, verdict in enumerate(failed, 1)
    ]
    return (
        ["## Why some do not hold", "", "Every number here was measured in this run.", "", *lines, ""] if lines else []
    )


def every_check(verdicts: list[Verdict]) -> Lines:
    """What was observed for each claim and stream."""
    rows = [
        (verdict.claim.text, verdict.data, "✓" if verdict.finding.holds else "✗", verdict.finding.observed)
        for verdict in verdicts
    ]
    return ["## Every check", "", *markdown_table(("claim", "data", "", "observed"), rows)]
