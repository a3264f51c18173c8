"""Lines that pass by once: the standard input, UDP datagrams, and lines that a program hands over."""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter, deque
from contextlib import suppress
from typing import IO, Any, Protocol

from ecmsketch.errors import ConfigError
from ecmsketch.net.addresses import Address
from ecmsketch.net.line_formats import MAX_LINE

_MOST = 2**16
"""Lines that wait to be counted; more make the producer of a pipe wait."""
_DATAGRAMS = 5_000
"""Datagrams that are taken at once."""
_SO_RXQ_OVFL = 40
"""Linux: each datagram comes with the number of those that were dropped before it."""
_COUNT = struct.Struct("=I")
_ROOM = socket.CMSG_SPACE(_COUNT.size)
_BUFFER = 2**22
"""Bytes that the kernel may keep of datagrams that were not taken yet; it gives what it allows."""


class Lines(Protocol):
    """Where a site's lines come from."""

    @property
    def position(self) -> dict[str, Any] | None:
        """Up to where lines were taken; None if they pass by once."""

    def resume(self, position: dict[str, Any] | None) -> None:
        """Go on after a position, before the first `take`."""

    def take(self) -> tuple[list[bytes], bool]:
        """New lines, and whether there may be more at once; never waits."""

    @property
    def noted(self) -> Counter[str]:
        """What happened to the input besides lines, such as rotations, and how often."""

    @property
    def lost(self) -> int:
        """Datagrams or files that are known to be lost."""

    def close(self) -> None:
        """Take no more lines."""


class PassingLines:
    """Lines that cannot be read again: what was taken and not saved is lost if the process is killed."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque()
        self.ended = False
        """Whether there will be no more lines."""
        self.noted: Counter[str] = Counter()
        self.lost = 0

    @property
    def position(self) -> None:
        """There is none: lines pass by once."""

    def resume(self, position: dict[str, Any] | None) -> None:
        """Do nothing: lines pass by once."""

    def take(self) -> tuple[list[bytes], bool]:
        """New lines, and whether there may be more at once."""
        taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST))]
        return taken, bool(self._waiting)

    def close(self) -> None:
        """Take no more lines."""
        self.ended = True


class PushedLines(PassingLines):
    """Lines that a program hands over, from any thread."""

    def push(self, *lines: bytes) -> None:
        """Hand lines over; they are counted at the next check."""
        self._waiting.extend(lines)


class PipedLines(PassingLines):
    """The lines of a pipe such as the standard input, read by a thread. A full queue makes the producer wait."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__()
        self._pipe, self._room = pipe, threading.Semaphore(_MOST)
        self._thread = threading.Thread(target=self._read, name="ecmsketch-lines", daemon=True)
        self._started = False

    def take(self) -> tuple[list[bytes], bool]:
        """New lines, and whether there may be more at once."""
        if not self._started:  # not before somebody can count them
            self._started = True
            self._thread.start()
        taken, more = super().take()
        if taken:
            self._room.release(len(taken))
        return taken, more

    def _read(self) -> None:
        skipping = False
        while not self.ended:
            line = self._pipe.readline(MAX_LINE + 2)
            if not line:
                self.ended = True
                return
            whole = line.endswith(b"\n")
            if not skipping and line.strip(b"\r\n"):
                self._room.acquire()
                self._waiting.append(line.rstrip(b"\n"))
            skipping = not whole and len(line) > MAX_LINE


class UdpLines(PassingLines):
    """The lines of UDP datagrams. What comes faster than it is taken is lost: the kernel's buffer holds the rest."""

    def __init__(self, address: Address) -> None:
        super().__init__()
        try:
            family, *_, where = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_DGRAM)[0]
            self._socket = socket.socket(family, socket.SOCK_DGRAM)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
            _count_losses(self._socket)
            self._socket.bind(where)
        except OSError as error:
            raise ConfigError(
                f"--udp: cannot listen on {address}: {error.strerror or error}; give another port, or stop what uses it"
            ) from error
        self._socket.setblocking(False)
        self.address = Address(address.host, self._socket.getsockname()[1])

    def take(self) -> tuple[list[bytes], bool]:
        """New lines, and whether there may be more at once."""
        lines: list[bytes] = []
        for _ in range(_DATAGRAMS):
            try:
                data, facts, _, _ = self._socket.recvmsg(MAX_LINE, _ROOM)
            except OSError:
                return lines, False
            for _, kind, value in facts:
                if kind == _SO_RXQ_OVFL:
                    self._note_lost(_COUNT.unpack(value)[0])
            lines.extend(line for line in data.split(b"\n") if line)
        return lines, True

    def close(self) -> None:
        """Take no more lines."""
        super().close()
        self._socket.close()

    def _note_lost(self, lost: int) -> None:
        """The kernel has dropped so many datagrams in all."""
        if lost > self.lost:
            self.noted["datagrams came faster than they were taken, and were lost"] += lost - self.lost
            self.lost = lost


def _count_losses(udp: socket.socket) -> None:
    """Let the kernel say how many datagrams it dropped, where it can: on Linux."""
    with suppress(OSError):
        udp.setsockopt(socket.SOL_SOCKET, _SO_RXQ_OVFL, 1)
