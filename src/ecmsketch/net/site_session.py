"""One connection of a site to its coordinator, from hello to its end."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from ecmsketch.errors import EcmError, FormatError
from ecmsketch.net.addresses import Reaching
from ecmsketch.net.control import (
    MAX_CONTROL,
    PATH,
    VERSION,
    Beat,
    number_field,
    read_control,
    text_field,
    write_control,
)

OPEN_WITHIN = 10.0
"""Seconds for connecting, and for the coordinator's welcome."""
MAX_FRAME = 2**28
"""Bytes of a frame from the coordinator: a vector of as many cells as a sketch may have."""
_WAITING = 64
"""Frames that wait to be sent; older reports are dropped then, since only the newest is waited for."""


class RefusedError(EcmError):
    """The coordinator will not have this site, however often it tries."""


@asynccontextmanager
async def connected(
    reaching: Reaching, token: str | None, context: ssl.SSLContext | None
) -> AsyncIterator[ClientConnection]:
    """A connection to the coordinator; an OSError if there is none now, a RefusedError if there never will be."""
    scheme = "ws" if context is None else "wss"
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        async with connect(
            f"{scheme}://{reaching.address}{PATH}", ssl=context, additional_headers=headers, compression=None,
            proxy=None, open_timeout=OPEN_WITHIN, close_timeout=1, ping_interval=None, max_size=MAX_FRAME, max_queue=4,
            user_agent_header=None,
        ) as socket:  # fmt: skip
            yield socket
    except InvalidStatus as error:
        status, body = error.response.status_code, (error.response.body or b"").decode(errors="replace").strip()
        if 400 <= status < 500:
            raise RefusedError(f"{reaching.address} refused the connection: {body or status}") from error
        raise OSError(f"the server answered {status} {body}") from error
    except ssl.SSLCertVerificationError as error:
        raise RefusedError(f"{reaching.address}: {error.verify_message}; give its authority by --tls-ca") from error
    except InvalidHandshake as error:
        raise OSError(f"what is there is no coordinator ({error})") from error
    except ConnectionClosed as error:
        raise OSError(f"the connection was closed ({error})") from error


class Session:
    """What is said over one connection. Whatever goes wrong with it is an OSError or an EOFError."""

    def __init__(self, socket: ClientConnection, receive: Callable[[bytes], None]) -> None:
        self._socket, self._receive = socket, receive
        self._outbox: deque[bytes | str] = deque(maxlen=_WAITING)
        self._wake = asyncio.Event()
        self._heard = 0.0
        self.watch = self.coordinator_run = ""
        self.anew = False

    async def join(self, name: str, identity: str, run_seen: str) -> None:
        """Say hello and take the welcome."""
        await self._socket.send(
            write_control("hello", {"version": VERSION, "site": name, "id": identity, "run": run_seen})
        )
        async with asyncio.timeout(OPEN_WITHIN):
            answer = await self._socket.recv()
        try:
            kind, value = read_control(answer if isinstance(answer, str) else "", "welcome", "refused")
            if kind == "refused":
                raise RefusedError(str(value)[:500])
            self.watch = text_field(value, "watch", MAX_CONTROL)
            self.coordinator_run = text_field(value, "run")
            self._beat_every, self._silence = number_field(value, "beat"), number_field(value, "missing_after")
            self.anew = value.get("anew") is not False
        except FormatError as error:
            raise RefusedError(f"what is there is no coordinator of this version ({error})") from error

    def send(self, *frames: bytes | str) -> None:
        """Send frames soon, in order."""
        self._outbox.extend(frames)
        self._wake.set()

    async def run(self, beat: Callable[[], Beat | None]) -> None:
        """Send and receive until the connection ends."""
        self._heard = asyncio.get_running_loop().time()
        try:
            async with asyncio.TaskGroup() as group:
                for part in (self._write(), self._read(), self._send_beats(beat)):
                    group.create_task(part)
        except* (ConnectionClosed, OSError, EOFError, TimeoutError) as errors:
            raise OSError(str(first_error(errors))) from errors

    async def leave(self) -> None:
        """Say that the site is stopped on purpose, and end."""
        try:
            async with asyncio.timeout(1):
                await self._socket.send(write_control("bye"))
                await self._socket.close()
        except (ConnectionClosed, OSError, TimeoutError):
            return

    async def _write(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._outbox:
                async with asyncio.timeout(self._silence):
                    await self._socket.send(self._outbox.popleft())

    async def _read(self) -> None:
        while True:
            frame = await self._socket.recv()
            self._heard = asyncio.get_running_loop().time()
            if isinstance(frame, bytes):
                self._receive(frame)
                continue
            try:
                kind, value = read_control(frame, "beat", "refused")
            except FormatError as error:
                raise EOFError(str(error)) from error
            if kind == "refused":
                raise EOFError(f"the coordinator ended it: {str(value)[:500]}")

    async def _send_beats(self, beat: Callable[[], Any]) -> None:
        while True:
            facts = beat()
            if facts is not None:
                self.send(write_control("beat", list(facts)))
            await asyncio.sleep(self._beat_every)
            if asyncio.get_running_loop().time() - self._heard > self._silence:
                raise TimeoutError(f"the coordinator has been silent for {self._silence:g} s")


def first_error(errors: BaseExceptionGroup[Any]) -> BaseException:
    """The first error of a group that is no group itself."""
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found
