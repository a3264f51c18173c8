"""Delivers the alerts of a table to a webhook: all of them, in order, each at least once, in a thread of its own.

A cursor says up to which one the receiver has accepted them. It is written after each, so a restart begins with the
first that was not accepted, and may send one again that was: its id is the same.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Self

from deltalake.exceptions import TableNotFoundError

from ecmsketch.alerts.alert_store import AlertStore
from ecmsketch.alerts.cursor import Cursor, Place, placed
from ecmsketch.alerts.webhook import Webhook, WebhookError, message_of
from ecmsketch.errors import StoreError
from ecmsketch.store.table_follower import Version

LOOK_EVERY = 1.0
"""Seconds between looks at the table."""
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds before a failed delivery is tried again: twice as long each time."""


class Delivery:
    """A monitor's alerts on their way to a webhook. A receiver that is slow or dead only makes them wait."""

    def __init__(
        self,
        alerts: AlertStore,
        monitor: str,
        webhook: Webhook,
        cursor: Cursor,
        say: Callable[[str], Any] = lambda text: None,
        *,
        waits: tuple[float, float] = (FIRST_WAIT, LONGEST_WAIT),
        look_every: float = LOOK_EVERY,
    ) -> None:
        """`say` is told when the receiver fails and recovers; `waits` are the shortest and the longest before it is
        tried again.
        """
        self._alerts, self._monitor, self._webhook, self._cursor, self._say = alerts, monitor, webhook, cursor, say
        self._waits, self._look_every = waits, look_every
        self._failures = 0
        self._seen: Version | None = None
        self._waiting: list[tuple[Place, dict[str, Any]]] = []
        self._closing = threading.Event()
        self._end = 0.0
        self._thread = threading.Thread(target=self._run, name="ecmsketch-webhook", daemon=True)

    def start(self) -> Self:
        """Begin to deliver, in a thread."""
        self._thread.start()
        return self

    def close(self, seconds: float = 10.0) -> int:
        """Deliver what is left, for some seconds at most, and stop; returns how many alerts are left."""
        self._end = time.monotonic() + seconds
        self._closing.set()
        self._thread.join(seconds + 1)  # a request that is under way ends with the process
        left = len(self._waiting)
        if left:
            self._say(f"{left} alerts were not delivered to {self._webhook.receiver}; they are sent at the next start")
        return left

    def _run(self) -> None:
        while True:
            closing = self._closing.is_set()  # asked before looking: whoever closes has written all alerts
            good = self._turn()
            if closing and ((good and not self._waiting) or time.monotonic() >= self._end):
                return
            if not good or not self._waiting:
                self._pause()

    def _pause(self) -> None:
        wait = self._look_every
        if self._failures:
            first, longest = self._waits
            wait = min(first * 2.0 ** min(self._failures - 1, 30), longest) * random.uniform(0.8, 1.2)  # noqa: S311
        if self._closing.is_set():
            time.sleep(max(min(wait, self._end - time.monotonic()), 0))
        else:
            self._closing.wait(wait)

    def _turn(self) -> bool:
        """Look for new alerts and send the first that waits; returns whether nothing failed."""
        try:
            table = self._look()
            if self._waiting:
                place, alert = self._waiting[0]
                message = message_of(alert, message_id(table, self._monitor, place))
                self._webhook.send(message, int(time.time()))
                self._cursor.move(table, place)
                self._waiting.pop(0)
        except Exception as error:  # nothing may end this thread: later alerts would be lost
            self._failed(error)
            return False
        if self._failures:
            self._say(f"webhook: {self._webhook.receiver}: alerts are accepted again")
        self._failures = 0
        return True

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        if self._failures == 1:
            what = "an alert was not accepted" if isinstance(error, WebhookError) else "alerts cannot be delivered"
            self._say(f"webhook: {what}: {error}; it is tried again until it is")

    def _look(self) -> str:
        """Find the alerts after the last one accepted, if the table has changed; returns which table it is."""
        try:
            version = self._alerts.version()
        except StoreError as error:
            if isinstance(error.__cause__, TableNotFoundError):
                self._waiting, self._seen = [], None  # the first alert makes the table
                return ""
            raise
        if version != self._seen:
            accepted = self._cursor.place(version[0])
            found = placed(self._alerts.read(self._monitor))
            self._waiting = [(place, alert) for place, alert in found if place > accepted]
            self._seen = version
        return version[0]


def message_id(table: str, monitor: str, place: Place) -> str:
    """The id of an alert's message: the same for the same alert, whoever sends it and however often."""
    return f"alert_{sha256(json.dumps([table, monitor, *place]).encode()).hexdigest()[:32]}"
