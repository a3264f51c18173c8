"""Threads in which pages are computed, so that the loop that serves all of them is never blocked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

_THREADS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="ecmsketch-page")


async def in_thread(work: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
    """Do some work in a thread and wait for it."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, lambda: work(*args, **kwargs))
