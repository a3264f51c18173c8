"""A site's connection as its coordinator sees it: what waits to be sent to it, and what it has said of itself."""

from __future__ import annotations

import asyncio
from collections import Counter, deque

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from ecmsketch.net.control import Beat

_MOST_FRAMES, _MOST_BYTES = 256, 2**26
"""What may wait to be sent to one site; more, and it is too slow. What it misses, it asks for again."""
_MOST_REPORTS = 4
"""Reports of one site that wait to be taken; more are left in the network."""


class Peer:
    """One connected site."""

    def __init__(self, name: str, identity: str, socket: ServerConnection) -> None:
        self.name, self.id, self.socket = name, identity, socket
        self.heard = asyncio.get_running_loop().time()
        self.beat = Beat()
        self.skew = 0.0
        self.joining = False
        """Whether it was told to begin anew, and has not reported since."""
        self.untaken = 0
        """Reports that wait to be taken."""
        self.room = asyncio.Event()
        self.room.set()
        self._outbox: deque[bytes | str] = deque()
        self._waiting = 0
        self._wake = asyncio.Event()

    def send(self, frame: bytes | str) -> bool:
        """Send a frame soon; returns False, and closes the connection, if the site does not read what is sent."""
        if len(self._outbox) >= _MOST_FRAMES or self._waiting + len(frame) > max(_MOST_BYTES, len(frame)):
            self.cut()
            return False
        self._outbox.append(frame)
        self._waiting += len(frame)
        self._wake.set()
        return True

    def cut(self) -> None:
        """End the connection at once, whatever is under way."""
        self._outbox.clear()
        self.socket.transport.abort()

    def note_report(self) -> None:
        """A report waits to be taken: if there are too many, no more are read."""
        self.untaken += 1
        if self.untaken >= _MOST_REPORTS:
            self.room.clear()

    def note_taken(self) -> None:
        """Its reports were taken."""
        self.untaken = 0
        self.room.set()

    async def write(self, patience: float, counts: Counter[str]) -> None:
        """Send what waits, until the connection ends."""
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._outbox:
                    frame = self._outbox.popleft()
                    self._waiting -= len(frame)
                    async with asyncio.timeout(patience):
                        await self.socket.send(frame)
        except TimeoutError:
            counts["too slow"] += 1
            self.cut()
        except (ConnectionClosed, OSError):
            return
