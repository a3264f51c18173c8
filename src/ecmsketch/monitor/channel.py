"""Channel: carries messages, late, twice, out of order or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from ecmsketch.errors import ConfigError


@dataclass(frozen=True)
class Channel:
    """How messages travel: after `delay` ticks and up to `jitter` more, so that they may overtake each other; a share
    `duplicate` of them arrives twice, a share `drop` never.
    """

    delay: int = 0
    jitter: int = 0
    duplicate: float = 0.0
    drop: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.delay < 0 or self.jitter < 0:
            raise ConfigError(f"channel: expected delay and jitter of 0 or more, got {self.delay} and {self.jitter}")
        if not (0 <= self.duplicate <= 1 and 0 <= self.drop < 1):
            raise ConfigError(f"channel: expected shares below 1, got {self.duplicate} and {self.drop}")


class Post:
    """Messages under way through a channel, to named receivers."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._rng = np.random.default_rng(channel.seed)
        self._under_way: list[tuple[int, int, str, bytes]] = []
        self._count = 0

    def send(self, tick: int, receiver: str, data: bytes) -> None:
        channel = self._channel
        if channel.drop and self._rng.random() < channel.drop:
            return
        copies = 2 if channel.duplicate and self._rng.random() < channel.duplicate else 1
        for _ in range(copies):
            jitter = int(self._rng.integers(0, channel.jitter + 1)) if channel.jitter else 0
            self._count += 1
            heappush(self._under_way, (tick + channel.delay + jitter, self._count, receiver, data))

    def arrived(self, tick: int) -> list[tuple[str, bytes]]:
        """What has arrived by a tick, taken out."""
        found = []
        while self._under_way and self._under_way[0][0] <= tick:
            _, _, receiver, data = heappop(self._under_way)
            found.append((receiver, data))
        return found

    def under_way(self, receiver: str) -> bool:
        """Whether something to a receiver has not arrived yet."""
        return any(message[2] == receiver for message in self._under_way)
