"""Work for requests in few threads: a bounded queue, and an end to waiting, so that nobody blocks the others.

Kernels release the interpreter's lock, so the threads use several cores, and the event loop goes on meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ecmsketch.serve.problems import ProblemError

Result = TypeVar("Result")

THREADS = 4
WAITING = 256
"""Questions that may wait or be worked on at once; more are refused."""
SECONDS = 20.0
"""How long a request waits for its answer."""


class WorkPool:
    """Threads for questions."""

    def __init__(self, threads: int = THREADS, waiting: int = WAITING, seconds: float = SECONDS) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="ecmsketch-answers")
        self._waiting, self._seconds = waiting, seconds
        self._running = 0

    async def run(self, ask: Callable[[], Result]) -> Result:
        """The result of `ask`, called in a thread; a problem if there is too much to do."""
        if self._running >= self._waiting:
            raise ProblemError(503, "too many questions are waiting; ask again in a second", {"Retry-After": "1"})
        self._running += 1
        asked = asyncio.get_running_loop().run_in_executor(self._executor, ask)
        asked.add_done_callback(self._ended)
        try:
            return await asyncio.wait_for(asyncio.shield(asked), self._seconds)
        except TimeoutError:
            raise ProblemError(
                503, f"the answer took longer than {self._seconds:g} s; ask for less, or again in a minute",
                {"Retry-After": "60"},
            ) from None  # fmt: skip

    def close(self) -> None:
        """Begin nothing new. What is being worked on is not waited for."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _ended(self, asked: asyncio.Future[Result]) -> None:
        self._running -= 1
        if not asked.cancelled():
            asked.exception()  # nobody may be waiting for it any more
