"""The coordinator's door: who may come in, and what a connection may say. Whatever else comes is counted and closed."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.protocol import State

from ecmsketch.errors import ConfigError, EcmError, FormatError
from ecmsketch.monitor.messages import check_name
from ecmsketch.net.addresses import Address, Listening
from ecmsketch.net.control import PATH, VERSION, read_beat, read_control, text_field, write_control
from ecmsketch.net.peer import Peer
from ecmsketch.net.report_check import ReportCheck

if TYPE_CHECKING:
    from ecmsketch.net.coordinator_server import CoordinatorServer

_HELLO_WITHIN = 5.0
"""Seconds for the opening handshake, for that of TLS, and for the first frame."""
_LEAVE_WITHIN = 3.0
"""Seconds for connections to end when the coordinator stops."""
_PROBE = 2.0
"""Seconds in which a connected site must answer if another one of the same name comes."""
_CLOSED = {1002: "bad frames", 1003: "bad frames", 1007: "bad frames", 1008: "bad frames", 1009: "oversize frames"}


class Door:
    """Lets sites in."""

    def __init__(self, server: CoordinatorServer, listening: Listening) -> None:
        self._server, self._listening = server, listening
        self._token, self._context = listening.check(), listening.context()
        self._reports = ReportCheck(server.keeper.watch)
        self._open = 0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Address]:
        """Listen while the block runs; yields the address."""
        address = self._listening.address
        handshakes: dict[str, Any] = {} if self._context is None else {"ssl_handshake_timeout": _HELLO_WITHIN}
        try:
            server = await serve(
                self._connection, address.host, address.port, ssl=self._context, process_request=self._refusal,
                compression=None, server_header=None, open_timeout=_HELLO_WITHIN, close_timeout=1, ping_interval=None,
                max_size=self._reports.largest, max_queue=4, logger=_logger(self._server.say),
                create_connection=self._counted,  # type: ignore[arg-type]  # it need not be a class
                **handshakes,
            )  # fmt: skip
        except OSError as error:
            raise ConfigError(
                f"--listen: cannot listen on {address}: {error.strerror or error}; give another port, or stop what "
                "uses it"
            ) from error
        try:
            yield Address(address.host, server.sockets[0].getsockname()[1])
        finally:
            server.close()
            with suppress(TimeoutError):
                await asyncio.wait_for(server.wait_closed(), _LEAVE_WITHIN)

    def _counted(self, *given: Any, **named: Any) -> ServerConnection:
        return _Connection(self._server.counts, *given, **named)

    def _refusal(self, connection: ServerConnection, request: Request) -> Response | None:
        """The answer to a request to connect that is refused, or None."""
        found = self._why_refused(request)
        if found is None:
            return None
        kind, status, reason = found
        self._server.counts[f"refused: {kind}"] += 1
        assert isinstance(connection, _Connection)
        connection.refused = True
        return connection.respond(status, f"{reason}\n")

    def _why_refused(self, request: Request) -> tuple[str, HTTPStatus, str] | None:
        if self._token is not None:
            given = ",".join(request.headers.get_all("Authorization"))
            if not hmac.compare_digest(given.encode(errors="replace"), f"Bearer {self._token}".encode()):
                return "token", HTTPStatus.UNAUTHORIZED, "the token is wrong; give the coordinator's by --token-file"
        if request.path != PATH or "Origin" in request.headers:
            return "not a site", HTTPStatus.NOT_FOUND, "this is a coordinator of ecmsketch, for sites only"
        if self._open >= self._server.settings.max_sites:
            return "too many", HTTPStatus.SERVICE_UNAVAILABLE, "too many sites are connected"
        return None

    async def _connection(self, socket: ServerConnection) -> None:
        self._open += 1
        try:
            await self._serve(socket)
        except (FormatError, TimeoutError) as error:
            self._server.counts["bad frames"] += 1
            await _refuse(socket, str(error) or "expected a hello in time")
        except ConnectionClosed as error:
            if error.sent is not None and error.sent.code in _CLOSED and not error.rcvd_then_sent:
                self._server.counts[_CLOSED[error.sent.code]] += 1
        finally:
            self._open -= 1

    async def _serve(self, socket: ServerConnection) -> None:
        async with asyncio.timeout(_HELLO_WITHIN):
            first = await socket.recv()
        peer, run_seen = _hello(first, socket)
        reason = await self._why_not(peer)
        if reason is not None:
            await _refuse(socket, reason)
            return
        writing = asyncio.create_task(peer.write(self._server.settings.missing_after, self._server.counts))
        on_purpose = False
        try:
            self._server.welcome(peer, run_seen)
            on_purpose = await self._listen(peer)
        finally:
            self._server.lose(peer, on_purpose=on_purpose)
            writing.cancel()

    async def _why_not(self, peer: Peer) -> str | None:
        """Why a site may not join; None if it may."""
        sites, most = self._server.keeper.coordinator.sites, self._server.settings.max_sites
        if peer.name not in sites and len(sites) >= most:
            self._server.counts["refused: too many"] += 1
            return (
                f"{most} sites are known already, the missing ones included; give the coordinator more by --max-sites"
            )
        if not await self._is_free(peer):
            self._server.counts["refused: name in use"] += 1
            return f"a site named {peer.name!r} is connected already; give every site a name of its own"
        return None

    async def _is_free(self, peer: Peer) -> bool:
        """Whether a site may have its name: nobody has it, or it was this site's, or who has it does not answer."""
        other = self._server.peers.get(peer.name)
        if other is None:
            return True
        if other.id != peer.id:
            try:
                async with asyncio.timeout(_PROBE):
                    await (await other.socket.ping())
                return False
            except (TimeoutError, ConnectionClosed):
                pass
        other.cut()
        return True

    async def _listen(self, peer: Peer) -> bool:
        """Take what a site says; returns whether it ended on purpose."""
        while True:
            await peer.room.wait()
            frame = await peer.socket.recv()
            if self._server.peers.get(peer.name) is not peer:
                return False  # another connection of the same site is newer
            self._server.hear(peer)
            if isinstance(frame, bytes):
                self._reports.check(frame, peer.name, self._server.clock(), self._server.keeper.coordinator)
                self._server.take(peer, frame)
                continue
            self._server.counts["control frames"] += 1
            self._server.counts["control bytes"] += len(frame)
            kind, value = read_control(frame, "beat", "bye")
            if kind == "bye":
                return True
            peer.beat = read_beat(value)
            self._server.answer_beat(peer)


def _hello(frame: str | bytes, socket: ServerConnection) -> tuple[Peer, str]:
    if isinstance(frame, bytes):
        raise FormatError("expected a hello first, got a binary frame")
    _, value = read_control(frame, "hello")
    if not isinstance(value, dict) or value.get("version") != VERSION:
        raise FormatError(f"hello: expected version {VERSION}; use the same version of ecmsketch on both sides")
    try:
        name = check_name(text_field(value, "site"))
    except (EcmError, UnicodeEncodeError) as error:
        raise FormatError(f"hello: {error}") from error
    return Peer(name, text_field(value, "id", 64), socket), text_field(value, "run", 64)


async def _refuse(socket: ServerConnection, reason: str) -> None:
    """Say why, and close."""
    try:
        async with asyncio.timeout(1):
            await socket.send(write_control("refused", reason[:500]))
            await socket.close(1008, reason[:60])
    except (ConnectionClosed, TimeoutError, OSError):
        socket.transport.abort()


class _Connection(ServerConnection):
    """A connection that counts if it never became one: garbage came, nothing in time, or no WebSocket was asked for."""

    def __init__(self, counts: Counter[str], *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._counts = counts
        self.refused = False

    async def handshake(self, *given: Any, **named: Any) -> None:
        try:
            await super().handshake(*given, **named)
        finally:
            if self.state is not State.OPEN and not self.refused:
                self._counts["failed handshakes"] += 1


class _Saying(logging.Handler):
    """Says what the library would write into a log: errors that should not happen."""

    def __init__(self, say: Callable[[str], Any]) -> None:
        super().__init__(logging.ERROR)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and record.getMessage() != "opening handshake failed":  # which is counted
            self._say(f"{record.getMessage()}: {error!r}")


def _logger(say: Callable[[str], Any]) -> logging.Logger:
    logger = logging.Logger("ecmsketch.net", logging.ERROR)  # of its own: nothing reaches the root's handlers
    logger.addHandler(_Saying(say))
    return logger
