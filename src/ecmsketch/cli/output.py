"""What commands print: tables for people, JSON for programs.

Names, paths and messages come from data, so they are printed as plain text (visible.py), never as markup of rich.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ecmsketch.inputs.visible import visible


def show(rows: Sequence[dict[str, Any]], as_json: bool, title: str = "", note: str = "") -> None:
    """Print rows as a table, or as JSON with the same names."""
    if as_json:
        print(json.dumps(list(rows), indent=2, default=_plain))
        return
    from rich.console import Console

    console = Console()
    console.print(_table(rows, title))
    if note:
        console.print(_as_text(note, "dim"))


@contextmanager
def changing(as_json: bool) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Show facts in the same place whenever they change; with JSON, print one line per change."""
    if as_json:
        yield lambda facts: print(json.dumps(facts, default=_plain), flush=True)
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as live:
        yield lambda facts: live.update(
            _table([{"": name.replace("_", " "), " ": _words(facts[name])} for name in facts], "")
        )


@contextmanager
def changing_table(as_json: bool) -> Iterator[Callable[[Sequence[dict[str, Any]], str], None]]:
    """Show rows and a note in the same place whenever they change; with JSON, print one line per change."""
    if as_json:
        yield lambda rows, note: print(json.dumps(list(rows), default=_plain), flush=True)
        return
    from rich.console import Group
    from rich.live import Live

    with Live(refresh_per_second=4) as live:
        yield lambda rows, note: live.update(
            Group(_table(rows, ""), _as_text(f"{note}, {time.strftime('%H:%M:%S')}", "dim"))
        )


def show_one(facts: dict[str, Any], as_json: bool) -> None:
    """Print the facts about one thing."""
    if as_json:
        print(json.dumps(facts, indent=2, default=_plain))
        return
    from rich.console import Console
    from rich.text import Text

    console, width = Console(), max(map(len, facts))
    for name, value in facts.items():
        console.print(Text.assemble((f"{name.replace('_', ' '):<{width}}  ", "bold"), _as_text(_words(value))))


def say(text: str) -> None:
    """Print a line for people on the error stream, beside the result."""
    sys.stderr.write(visible(text) + "\n")


@contextmanager
def working(text: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner with the elapsed time on the error stream; yields a function that changes the text."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with (
        os.fdopen(os.dup(2), "w") as errors,  # a copy, because the error stream is redirected while Spark starts
        Progress(*columns, console=Console(file=errors), transient=True) as progress,
    ):
        task = progress.add_task(visible(text))
        yield lambda changed: progress.update(task, description=visible(changed))


def _table(rows: Sequence[dict[str, Any]], title: str) -> Any:
    from rich.table import Table

    heading = _as_text(title) if title else None
    table = Table(title=heading, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for name in rows[0] if rows else []:
        numbers = all(isinstance(row[name], int | float) for row in rows)
        table.add_column(_as_text(name.replace("_", " ")), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_as_text(_words(value)) for value in row.values()))
    return table


def _as_text(text: str, style: str = "") -> Any:
    from rich.text import Text

    return Text(visible(text), style)


def _words(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.1f}".removesuffix(".0") if abs(value) >= 1 or value == 0 else f"{value:.4g}"
    return str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value)
