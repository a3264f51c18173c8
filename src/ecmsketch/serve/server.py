"""Runs the app on a socket until Ctrl-C."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from ecmsketch.errors import ConfigError
from ecmsketch.serve.access import make_access
from ecmsketch.serve.app import make_app
from ecmsketch.serve.connections import Connection
from ecmsketch.serve.garbage import search_less
from ecmsketch.serve.live_store import LiveStore
from ecmsketch.serve.spare_memory import use_few_arenas
from ecmsketch.serve.work_pool import WorkPool

_CONNECTIONS = 2_000
"""Connections at once; more are answered with 503."""
_MESSAGE = 2**18
"""Bytes of a message from a page. They are not compressed: that would take memory and time for each open page."""
_SWITCH = 0.001
"""Seconds that a thread keeps the interpreter. With Python's 0.005 the loop that answers waits long for its turns."""
_PATIENCE = 3
"""Seconds that open requests get to end after Ctrl-C."""


class _Server(uvicorn.Server):
    """A server that Ctrl-C ends without an error: it is how one stops it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at SIGINT and SIGTERM; at the second one, at once."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def run(
    store: str, alerts: str | None, host: str, port: int, token_file: str | None, say: Callable[[str], None]
) -> None:
    """Serve a store until the process is told to stop. `say` is told where."""
    access = make_access(host, token_file)
    pool = WorkPool()
    sys.setswitchinterval(_SWITCH)
    use_few_arenas()
    with _listening(host, port) as listening, LiveStore(store, alerts) as live:
        config = uvicorn.Config(
            make_app(live, access, pool=pool), log_level="critical", access_log=False, server_header=False,
            limit_concurrency=_CONNECTIONS, timeout_graceful_shutdown=_PATIENCE, proxy_headers=False,
            http=Connection, ws_max_size=_MESSAGE, ws_per_message_deflate=False,
        )  # fmt: skip
        say(f"{store} is served at {_address(host, listening)}; Ctrl-C stops")
        if live.problem is not None:
            say(live.problem)
        config.load()
        search_less()
        _Server(config).run([listening])
        pool.close()


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket on an address, or an error that says why not."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server((address[0], port), family=family, backlog=1024)
    except (OSError, UnicodeError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"--host, --port: cannot listen on {host} port {port}: {reason}; give another port, or stop what uses it"
        ) from error
    with listening:
        yield listening


def _address(host: str, listening: socket.socket) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
