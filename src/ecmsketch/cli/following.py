"""Asking a question once, or again and again of a store that may not be there yet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import sleep
from typing import Annotated, Any, NoReturn

import typer

from ecmsketch.cli.options import AsJson, a_number
from ecmsketch.cli.output import changing_table, say, show
from ecmsketch.cli.sketches import NothingYetError
from ecmsketch.errors import StoreError

Answer = tuple[Sequence[dict[str, Any]], str]
"""Rows of a table, and a note below it."""


@dataclass(frozen=True)
class AnswerOptions:
    """Options of a command that answers a question: how often, and in which form."""

    again: Annotated[bool, typer.Option("--follow", help="Ask again every --seconds, until you press Ctrl-C.")] = False
    seconds: Annotated[
        float, typer.Option(help="Seconds between questions, with --follow.", min=0.1, max=86_400, callback=a_number)
    ] = 2.0
    as_json: AsJson = False

    def show(self, ask: Callable[[], Answer]) -> None:
        """Ask and show the answer, once or until interrupted."""
        if self.again:
            follow(ask, self.as_json, self.seconds)
        rows, note = ask()
        show(rows, self.as_json, note=note)


def follow(ask: Callable[[], Answer], as_json: bool, seconds: float) -> NoReturn:
    """Ask again and again, and show the newest answer in the same place; with JSON, print one line per answer.

    It waits for a store that does not exist yet, is empty, or cannot be read at the moment. It says that it waits, and
    the previous answer stays in view. A wrong question ends it.
    """
    rows: Sequence[dict[str, Any]] = []
    said = ""
    with changing_table(as_json) as change:
        while True:
            try:
                rows, note = ask()
                said = ""
                change(rows, note)
            except (NothingYetError, StoreError) as error:
                note = f"waiting: {error}"
                if as_json or not sys.stdout.isatty():
                    if note != said:
                        say(note)
                    said = note
                else:
                    change(rows, note)
            sleep(seconds)
