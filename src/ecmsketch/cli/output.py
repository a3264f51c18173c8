"""What commands print: tables for people, JSON for programs."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


def show(rows: Sequence[dict[str, Any]], as_json: bool, title: str = "", note: str = "") -> None:
    """Rows as a table, or as JSON with the same names."""
    if as_json:
        print(json.dumps(list(rows), indent=2, default=_plain))
        return
    from rich.console import Console

    console = Console()
    console.print(_table(rows, title))
    if note:
        console.print(note, style="dim")


def follow(ask: Callable[[], tuple[Sequence[dict[str, Any]], str]], as_json: bool, seconds: float) -> None:
    """Ask again and again, and show the newest answer in the same place, until interrupted; as JSON, a line each."""
    if as_json:
        while True:
            print(json.dumps(list(ask()[0]), default=_plain), flush=True)
            time.sleep(seconds)
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    with Live(refresh_per_second=4) as live:
        while True:
            rows, note = ask()
            live.update(Group(_table(rows, ""), Text(f"{note}, {time.strftime('%H:%M:%S')}", style="dim")))
            time.sleep(seconds)


@contextmanager
def changing(as_json: bool) -> Iterator[Callable[[dict[str, Any]], None]]:
    """What is known of one thing, shown in the same place whenever it changes; as JSON, a line each."""
    if as_json:
        yield lambda facts: print(json.dumps(facts, default=_plain), flush=True)
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as live:
        yield lambda facts: live.update(
            _table([{"": name.replace("_", " "), " ": _text(facts[name])} for name in facts], "")
        )


def _table(rows: Sequence[dict[str, Any]], title: str) -> Any:
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for name in rows[0] if rows else []:
        numbers = all(isinstance(row[name], int | float) for row in rows)
        table.add_column(name.replace("_", " "), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_text(value) for value in row.values()))
    return table


def show_one(facts: dict[str, Any], as_json: bool) -> None:
    """One thing and what is known of it."""
    if as_json:
        print(json.dumps(facts, indent=2, default=_plain))
        return
    from rich.console import Console

    width = max(map(len, facts))
    for name, value in facts.items():
        Console().print(f"[bold]{name.replace('_', ' '):<{width}}[/]  {_text(value)}", highlight=False)


def say(text: str) -> None:
    """A line for people, beside the result."""
    sys.stderr.write(text + "\n")


@contextmanager
def working(text: str) -> Iterator[Any]:
    """A spinner with the time gone by, on the error stream; gives a function that changes the text."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with (
        os.fdopen(os.dup(2), "w") as errors,  # a copy: Spark is started with the error stream turned elsewhere
        Progress(*columns, console=Console(file=errors), transient=True) as progress,
    ):
        task = progress.add_task(text)
        yield lambda changed: progress.update(task, description=changed)


def _text(value: Any) -> str:
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
