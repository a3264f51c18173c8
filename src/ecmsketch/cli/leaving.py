"""Ending a process while threads of Arrow still read a Delta table."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def leave_early() -> Iterator[None]:
    """End the process once the block and all exit handlers are done, without shutting the interpreter down.

    Arrow reads a Delta table in threads of its own, through file objects of Python. If such a read is still going on
    when the interpreter shuts down, the process crashes or hangs after it has printed everything. A command that
    failed properly then ends with code 134 or 139 instead of 1.
    """
    code = 1  # for an unexpected error, which the interpreter shows before handlers run

    def leave() -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # nobody may be reading any more
                stream.flush()
        os._exit(code)

    atexit.register(leave)  # first, because handlers run in reverse order
    try:
        yield
    except SystemExit as ended:
        code = _code(ended)
        raise


def _code(ended: SystemExit) -> int:
    """The exit code that the interpreter would use; it prints a text and exits with 1."""
    if ended.code is None or isinstance(ended.code, int):
        return ended.code or 0
    return 1
