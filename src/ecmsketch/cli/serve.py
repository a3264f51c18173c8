"""ecmsketch serve: a live page, a JSON API and metrics for a store."""

from __future__ import annotations

from typing import Annotated

import typer

from ecmsketch.cli.output import say
from ecmsketch.errors import EcmError


def serve(
    store: Annotated[str, typer.Argument(help="Folder or URL of a store; it may appear later.", show_default=False)],
    alerts: Annotated[str | None, typer.Option(help="Table of alerts that `ecmsketch monitor` writes.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on. Any but loopback needs --token-file.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65_535)] = 8600,
    token_file: Annotated[str | None, typer.Option(help="File with a secret that every request must present.")] = None,
) -> None:
    """Show a store live: a page for people, JSON under /api/v1 for programs, /metrics for Prometheus.

    Ctrl-C stops.

    Example: ecmsketch serve live --alerts alerts; then open http://127.0.0.1:8600. For other machines:
    ecmsketch serve live --host 0.0.0.0 --token-file secret
    """
    try:
        from ecmsketch.serve.server import run
    except ModuleNotFoundError as error:
        raise EcmError(f"this command needs {error.name}. Run: pip install 'ecmsketch[serve]'") from None
    run(store, alerts, host, port, token_file, say)
