"""Connections of clients that send or read slowly or without end: uvicorn itself would wait for them for ever."""

from __future__ import annotations

from asyncio import TimerHandle, Transport

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

SENDING_SECONDS = 10.0
"""How long a request may take until all of it has come. Few have more than a head: the form with a token."""
SENDING_BYTES = 2**20
"""How large it may be."""
READING_SECONDS = 30.0
"""How long a client may take to read what waits for it."""


class Connection(HttpToolsProtocol):
    """A connection that is closed if a request does not come in time or does not end, or its answer is not read."""

    _coming: TimerHandle | None = None
    _unread: TimerHandle | None = None
    _received = 0

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def on_message_begin(self) -> None:
        """Wait for the rest of a request."""
        super().on_message_begin()
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take some bytes, unless the request has become too large."""
        self._received += len(data) if self._coming is not None else 0
        if self._received > SENDING_BYTES:
            self._stop_waiting()
            self.send_400_response(f"The request is too large: expected {SENDING_BYTES:,} bytes or less.")
            return
        super().data_received(data)

    def on_message_complete(self) -> None:
        """Answer, however long that takes."""
        self._stop_waiting()
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Leave the connection to the protocol of websockets, which has limits of its own."""
        self._stop_waiting()
        super().handle_websocket_upgrade()

    def pause_writing(self) -> None:
        """Wait until the client reads."""
        super().pause_writing()
        self._unread = self.loop.call_later(READING_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        self._stop_unread()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._stop_waiting()
        self._stop_unread()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._coming is None:
            self._coming = self.loop.call_later(SENDING_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._coming is not None:
            self._coming.cancel()
        self._coming, self._received = None, 0

    def _stop_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
        self._unread = None

    def _give_up(self) -> None:
        self._coming = None
        self.transport.close()
