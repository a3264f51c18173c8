"""One report of all results in a folder: Markdown, a self-contained HTML page, and figures."""

from __future__ import annotations

import base64
import re
from pathlib import Path

from ecmsketch.experiments.registry import EXPERIMENTS
from ecmsketch.experiments.report.claims import check_claims
from ecmsketch.experiments.report.figures import draw_figures
from ecmsketch.experiments.report.markdown import markdown_table
from ecmsketch.experiments.report.notes import NOTES
from ecmsketch.experiments.report.sections import Lines, result_tables
from ecmsketch.experiments.report.summary import every_check, summary
from ecmsketch.experiments.results import StoredResult, read_results

_STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:72em;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;margin:1em 0;font-size:13px}td,th{border:1px solid #ccc;padding:.25em .6em;"
    "text-align:left}th{background:#f4f4f4}img{max-width:100%}"
)


def write_report(out: Path) -> list[Path]:
    """Write report.md, report.html and figures/ beside the results."""
    results = read_results(out)
    text = _markdown(results, out / "figures", "figures")
    page, lines = out / "report.html", out / "report.md"
    lines.write_text(text)
    page.write_text(_html(text, out))
    return [lines, page]


def write_docs_page(out: Path, docs: Path) -> list[Path]:
    """Write the same report as docs/results.md, with its pictures in docs/pictures/results."""
    path = docs / "results.md"
    path.write_text(_markdown(read_results(out), docs / "pictures" / "results", "pictures/results"))
    return [path]


def _markdown(results: list[StoredResult], pictures: Path, link: str) -> str:
    ordered = [result for name in EXPERIMENTS for result in results if result.experiment == name]
    verdicts = check_claims(ordered)
    lines = [*_OPENING, *summary(ordered, verdicts), *_data(ordered), *_COUNTED]
    for name, spec in EXPERIMENTS.items():
        mine = [result for result in ordered if result.experiment == name]
        if not mine:
            continue
        lines += [f"## {spec.title}", "", f"In the paper: {spec.paper}.", ""]
        lines += [NOTES[name], ""] if name in NOTES else []
        for result in mine:
            lines += [
                f"**{result.data}** ({result.label})",
                "",
                *_pictures(result, pictures, link),
                *result_tables(result),
            ]
    lines += [*every_check(verdicts), *_missing(ordered), *_made(ordered)]
    return "\n".join(lines).rstrip() + "\n"


_OPENING = [
    "# Results",
    "",
    "This page shows the paper's experiments (section 7) as this library runs them, and some experiments beyond the "
    "paper. `ecmsketch reproduce` makes it. All numbers and figures come from the CSV files that it writes.",
    "",
    "*As published* is the paper's sketch, its split of epsilon, and its way to read it: the least cell or row. "
    "*Ours, sharper* is the same sketch with the split and the answers of [guarantees.md](guarantees.md). *Slices* is "
    "the library's default. Errors are shares of the arrivals in the range, or of their square for self-joins.",
    "",
]
_COUNTED = [
    "**What network bytes count:** the serialised sketches that are sent from a child to its parent, at all levels of "
    "the tree, as `serialize` makes them. The headers of the network and of Spark are not counted, nor are the events.",
    "",
    "**What an interval is:** a ± b is the mean over seeds and its 95 % t-interval. Seeds change the hash functions, "
    "not the stream. A number without ± has one seed.",
    "",
]


def _data(results: list[StoredResult]) -> Lines:
    manifests = {result.data: result.manifest for result in results}
    machine = max((result.manifest["machine"] for result in results), key=lambda one: int(one["cores"]))
    rows = [
        (name, manifest["key"]["label"], f"{manifest['data']['events']:,}", manifest["data"]["sites"],
         manifest["data"]["what"])
        for name, manifest in manifests.items()
    ]  # fmt: skip
    return [
        "## The data, and what is counted",
        "",
        "The window is 1,000,000 s and delta is 0.1, as in the paper. Data marked real was recorded. Data marked "
        "GENERATED is random: it follows real counts where the table says so, and assumptions elsewhere.",
        "",
        *markdown_table(("data", "label", "events", "sites", "what"), rows),
        "An experiment may have had more or fewer events of a stream: its figures say how many, and the last table of "
        "this page does. Of shorter streams the World Cup and SNMP have 28 days.",
        "",
        f"Machine: {machine['cores']} cores, {machine['cpu']}, {machine['memory_gb']} GB.",
        "",
    ]


def _pictures(result: StoredResult, pictures: Path, link: str) -> Lines:
    return [
        line
        for path in draw_figures(result, pictures)
        for line in (f"![{result.manifest['title']}, {result.data}]({link}/{path.name})", "")
    ]


def _missing(results: list[StoredResult]) -> Lines:
    there = {result.experiment for result in results}
    absent = [spec for name, spec in EXPERIMENTS.items() if name not in there]
    lines = [f"- {spec.title}: not run" for spec in absent]
    return ["## Not in this report", "", *lines, ""] if lines else []


def _made(results: list[StoredResult]) -> Lines:
    versions = results[0].manifest["versions"]
    rows = [
        (result.experiment, result.data, f"{result.manifest['key']['events']:,}", result.manifest["seed"],
         result.manifest["key"]["engine"], f"{result.manifest['seconds']:.0f} s")
        for result in results
    ]  # fmt: skip
    return [
        "## How it was made",
        "",
        *markdown_table(("experiment", "data", "events", "seed", "run by", "took"), rows),
        "Versions: " + ", ".join(f"{name} {version}" for name, version in versions.items()) + ".",
        "",
    ]


def _html(text: str, folder: Path) -> str:
    """The Markdown as one HTML page that contains its pictures."""
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark").enable("table").render(text)
    body = re.sub(r'src="([^"]+\.(?:png|svg))"', lambda found: f'src="{_inline(folder / found[1])}"', body)
    return f'<!doctype html>\n<meta charset="utf-8">\n<title>Results</title>\n<style>{_STYLE}</style>\n{body}'


def _inline(path: Path) -> str:
    kind = "svg+xml" if path.suffix == ".svg" else "png"
    return f"data:image/{kind};base64," + base64.b64encode(path.read_bytes()).decode()
