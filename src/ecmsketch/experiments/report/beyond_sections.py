"""The tables of the experiments beyond the paper, one function per experiment."""

from __future__ import annotations

from collections.abc import Callable

from ecmsketch.experiments.report.intervals import Interval, by_seed
from ecmsketch.experiments.report.markdown import byte_size, event_rate, markdown_table, short_number
from ecmsketch.experiments.report.multiples import enough
from ecmsketch.experiments.results import StoredResult
from ecmsketch.experiments.spec import Row

Lines = list[str]
Shown = Callable[[list[Row]], str]
Section = Callable[[StoredResult], Lines]


def _by(rows: list[Row], *keys: str) -> dict[tuple[object, ...], list[Row]]:
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in keys), []).append(row)
    return groups


def _mean(column: str) -> Shown:
    return lambda rows: _shown(by_seed(rows, (), column)[()])


def _shown(value: Interval) -> str:
    if not value.half > 0:
        return short_number(float(value.mean))
    digits = ",.0f" if value.mean >= 1000 else ".3g"
    return f"{value.mean:{digits}} ± {value.half:{',.0f' if value.half >= 100 else '.2g'}}"


def _most(column: str) -> Shown:
    return lambda rows: f"{max(float(row[column]) for row in rows):.3g}"


def _percent(column: str) -> Shown:
    return lambda rows: f"{100 * sum(float(row[column]) for row in rows) / len(rows):.4g} %"


def _memory(rows: list[Row]) -> str:
    return byte_size(by_seed(rows, (), "memory_bytes")[()].mean)


def _grouped(arrivals: tuple[str, ...], keys: tuple[str, ...], columns: dict[str, Shown]) -> Section:
    """A table with a row for every combination of the keys, over all seeds and all ranges with enough arrivals."""

    def table(result: StoredResult) -> Lines:
        groups = _by(enough(result.rows, *arrivals), *keys)
        rows = [(*case, *(show(mine) for show in columns.values())) for case, mine in groups.items()]
        return markdown_table((*keys, *columns), rows)

    return table


def _equal_memory(result: StoredResult) -> Lines:
    head = ("sketch", "memory", "mean error, all items", "mean error, heaviest 100", "source")
    rows = [
        (case[0], _memory(mine), _mean("all_items")(mine), _mean("heaviest")(mine), mine[0]["source"])
        for case, mine in _by(result.rows, "sketch", "source", "setting", "memory_bytes").items()
        if mine[0]["setting"] == ""
    ]
    ours = [
        (case[0], _memory(mine), _mean("all_items")(mine), _mean("heaviest")(mine), mine[0]["source"])
        for case, mine in _by(result.where(source="measured here"), "sketch", "setting").items()
    ]
    return markdown_table(head, ours + rows)


def _batch_sizes(result: StoredResult) -> Lines:
    sizes = list(dict.fromkeys(row["batch"] for row in result.rows))
    rows = []
    for (engine, epsilon), mine in _by(result.rows, "engine", "epsilon").items():
        rates = by_seed(mine, ("batch",), "updates_per_s")
        rows.append((engine, epsilon, *(event_rate(rates[size,].mean) for size in sizes), _memory(mine)))
    return markdown_table(("engine", "epsilon", *(f"batches of {size:,}" for size in sizes), "memory"), rows)


def _peers(result: StoredResult) -> Lines:
    head = ("peer", "version", "stream", "events", "window", "ns per event", "memory", "µs per question",
            "average error", "worst")  # fmt: skip
    rows = []
    for (peer, sweep, events, window), mine in _by(result.rows, "peer", "sweep", "events", "window").items():
        cells: list[str] = [mine[0]["state"], "", "", "", ""]
        if mine[0]["state"] == "measured":
            held = [row for row in mine if row["memory_bytes"] != ""]
            cells = [
                short_number(by_seed(mine, (), "ns_per_event")[()].mean), _memory(held) if held else "–",
                short_number(by_seed(mine, (), "ask_us")[()].mean), *(_most(name)(mine) for name in
                ("avg_error", "max_error")),
            ]  # fmt: skip
        stream = "grows" if sweep == "events" else "slides"
        rows.append((peer, mine[0]["version"] or "–", stream, f"{events:,}", f"{window:,}", *cells))
    missing = {row["peer"]: row["state"] for row in result.rows if row["state"] != "measured"}
    kept = [row for row in rows if row[0] not in missing]
    left = "; ".join(f"{peer}: {state}" for peer, state in missing.items())
    return markdown_table(head, kept) + ([f"Not measured: {left}.", ""] if left else [])


_ERRORS: dict[str, Shown] = {
    "average error": _mean("avg_error"),
    "worst": _most("max_error"),
    "promised": _most("promised"),
    "answers beyond it": _percent("beyond_promise"),
    "within the answer's bounds": _percent("covered"),
    "memory": _memory,
}
BEYOND_SECTIONS: dict[str, Section] = {
    "inner_product": _grouped(
        ("arrivals_a", "arrivals_b"),
        ("engine", "epsilon"),
        {
            "exact product / (arrivals × arrivals)": _mean("exact"),
            "average error": _mean("error"),
            "worst": _most("error"),
            "promised": _most("promised"),
            "bound of the answer": _most("bound"),
            "within it": _percent("covered"),
            "memory of both": _memory,
        },
    ),
    "count_windows": _grouped(
        ("arrivals",),
        ("engine", "epsilon"),
        {
            "average error": _mean("avg_error"),
            "worst": _most("max_error"),
            "promised": _most("promised"),
            "answers beyond it": _percent("beyond_promise"),
            "outside the answer's bounds": _percent("outside_bounds"),
            "memory": _memory,
        },
    ),
    "heavy_hitters": _grouped(
        ("arrivals",),
        ("engine", "phi"),
        {
            "precision": _mean("precision"),
            "recall": _mean("recall"),
            "recall with no_miss": _mean("recall_no_miss"),
            "largest share missed": _most("largest_missed"),
            "smallest share named wrongly": lambda rows: f"{min(float(row['smallest_wrong']) for row in rows):.3g}",
            "memory": _memory,
        },
    ),
    "quantiles": _grouped(("arrivals",), ("engine", "epsilon"), _ERRORS),
    "range_sums": _grouped(("arrivals",), ("engine", "epsilon"), _ERRORS),
    "equal_memory": _equal_memory,
    "batch_sizes": _batch_sizes,
    "peers": _peers,
}
"""By experiment."""
_SMALL_RANGES = (
    "Averages are over all ranges with at least 1,000 arrivals; ± is the 95 % interval over seeds. "
    "Figures have no point where an error is 0: slices count their newest events exactly. "
)
BEYOND_NOTES = {
    "inner_product": _SMALL_RANGES + "The two streams are the sites with even and with odd numbers, or every other "
    "event where events do not name their site. Errors are shares of the product of both streams' arrivals.",
    "count_windows": _SMALL_RANGES + "The window is the last million arrivals, or the last half of a shorter stream. "
    "Every distinct item in the range is asked for. Errors are shares of the arrivals in the range.",
    "heavy_hitters": _SMALL_RANGES + "An item is heavy if it came at least phi of the arrivals in the range. Sketches "
    "have epsilon = phi/2. The plain question decides by the estimate; `no_miss` decides by the upper bound.",
    "quantiles": _SMALL_RANGES + "Items are folded to their lowest 20 bits: numbers below 2^20 stay as they are, "
    "and hashed items become random numbers, of which equal ones are counted together. The error is "
    "the distance between the share that was asked for and the ranks of the answer.",
    "range_sums": _SMALL_RANGES + "Items are folded to 20 bits as for quantiles. The ends of one half of the ranges "
    "are numbers that came, those of the other half are any numbers. Errors are shares of the arrivals in the range.",
    "equal_memory": "Two million events over 90,000 items by a Zipf law of exponent 1, of which the last 500,000 are "
    "asked for, every item in them. Errors are counts. Numbers of other sketches were not measured in this run but for "
    "SLICES.md, the design of slices, with their authors' C++ code on another draw of the same law; their memory is "
    "what they claim. They know one window, and neither merge nor bound their answers.",
    "batch_sizes": "Sketches are full before the clock starts, and half of the events have expired. Every rate is that "
    "of one core, with hashing; a batch of one is a call of `update`.",
    "peers": "Left: all events are in the window. Right: the stream has a fixed length and the window grows, so that "
    "expired events must be forgotten. Our sketches and DuckDB get batches of 100,000; probstructs, datasketches and "
    "one line of ours get one call per event. All tables have the width and depth of epsilon 0.01. DuckDB has one "
    "thread, deletes expired events after each batch, and is weighed after a checkpoint, which compresses. The memory "
    "of probstructs is what the process grew by. A question is the count of one item in the last half of the window.",
}
