"""Options of commands that talk over a network, and how such a command runs until Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from ecmsketch.errors import EcmError, QueryError
from ecmsketch.inputs.durations import parse_duration

_NANOSECONDS = 10**9


@dataclass(frozen=True)
class SecurityOptions:
    """Options that say who may talk, and that nobody listens in."""

    token_file: Annotated[str | None, typer.Option(help="File with the secret that sites and coordinator share.")] = (
        None
    )
    tls_cert: Annotated[str | None, typer.Option(help="PEM file with the certificate of this side.")] = None
    tls_key: Annotated[str | None, typer.Option(help="PEM file with the key of --tls-cert.")] = None
    tls_ca: Annotated[
        str | None,
        typer.Option(help="PEM file with the authority that the other side's certificate must be signed by."),
    ] = None
    insecure: Annotated[bool, typer.Option("--insecure", help="Use other machines without TLS.")] = False


def seconds(text: str, option: str) -> float:
    """A length of time such as 10s or 500ms, in seconds; a bare number is seconds."""
    try:
        found = parse_duration(f"{text}s" if text.strip().isdigit() else text, "ns") / _NANOSECONDS
    except QueryError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error
    if not 0.1 <= found <= 86_400:
        raise typer.BadParameter(f"expected 100ms to 1d, got {text!r}", param_hint=option)
    return found


def needs_net() -> None:
    """Raise an error that says what to install, if something is missing."""
    try:
        import ecmsketch.net  # noqa: F401
    except ModuleNotFoundError as error:
        raise EcmError(f"this command needs {error.name}. Run: pip install 'ecmsketch[net]'") from None


def run_until_stopped(work: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> None:
    """Run something until Ctrl-C or SIGTERM; a second one ends it at once."""
    asyncio.run(_run(work))


async def _run(work: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def end() -> None:
        stop.set()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end)
    await work(stop)
