"""A file that grows: its lines, also across rotation and truncation, from a position that outlives the process."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from ecmsketch.errors import InputError
from ecmsketch.net.line_formats import MAX_LINE

_CHUNK = 2**20
"""Bytes that are read at once."""
GRACE = 1.0
"""Seconds for which the old file is still read after another has taken its place: its writer may not know yet."""


class GrowingFile:
    """The lines of a file and what is appended to it, each once.

    If another file takes its place (rotation by renaming), the old one is read to its end first; after a restart it is
    looked for among the files beside it. If it becomes shorter (rotation by copying and truncating), reading begins
    anew; lines that were written between the last look and the truncation are lost, as with every reader.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._file: IO[bytes] | None = None
        self._offset = 0
        """Where the first line that was not handed out begins."""
        self._identity: tuple[int, int] | None = None
        self._rest = b""
        """The beginning of a line whose end is not there yet."""
        self._skipping = False
        """Whether the line is too long: the rest of it is skipped."""
        self._replaced: float | None = None
        """Since when another file has its name."""
        self.noted: Counter[str] = Counter()
        self.lost = 0
        """How often it was replaced, and its predecessor could not be found after a restart."""

    @property
    def position(self) -> dict[str, Any] | None:
        """Which file is read, and up to where; keep it together with what was made of the lines."""
        if self._identity is None:
            return None
        return {"file": list(self._identity), "offset": self._offset, "skipping": self._skipping}

    def resume(self, position: dict[str, Any] | None) -> None:
        """Go on where a position says. It must be called before the first `take`."""
        if position is None:
            return
        wanted = (int(position["file"][0]), int(position["file"][1]))
        offset = int(position["offset"])
        for path in self._candidates():
            file = _open(path)
            if file is None:
                continue
            if _identity(file) == wanted and os.fstat(file.fileno()).st_size >= offset:
                self._begin(file, offset)
                self._skipping = bool(position["skipping"])
                return
            file.close()
        self.lost += 1
        self.noted["the file that was read before is gone; what was not read of it is lost"] += 1

    def take(self) -> tuple[list[bytes], bool]:
        """New whole lines, and whether there may be more at once."""
        if self._file is None and not self._open_next():
            return [], False
        assert self._file is not None
        data = self._file.read(_CHUNK)
        if data:
            return list(self._split(data)), True
        return self._at_end()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _candidates(self) -> Iterator[Path]:
        yield self._path
        yield from sorted(self._path.parent.glob(f"{self._path.name}?*"))

    def _open_next(self) -> bool:
        file = _open(self._path)
        if file is not None:
            self._begin(file, 0)
        return file is not None

    def _begin(self, file: IO[bytes], offset: int) -> None:
        file.seek(offset)
        self._file, self._offset, self._identity = file, offset, _identity(file)
        self._rest, self._skipping, self._replaced = b"", False, None

    def _at_end(self) -> tuple[list[bytes], bool]:
        """Nothing more is in the open file: it may have become shorter, or another may have taken its place."""
        assert self._file is not None
        size = os.fstat(self._file.fileno()).st_size
        if size < self._offset + len(self._rest):
            self.noted["the file became shorter; it is read from its beginning"] += 1
            self._begin(self._file, 0)
            return [], size > 0
        if size > self._file.tell():
            return [], True
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return [], False
        if (found.st_dev, found.st_ino) == self._identity:
            return [], False
        self._replaced = self._replaced or time.monotonic()
        if time.monotonic() - self._replaced < GRACE:
            return [], False
        last = [self._rest] if self._rest and not self._skipping else []  # no more will come to an unfinished line
        self._file.close()
        self._file = None
        self.noted["another file has taken the name; it is read from its beginning"] += 1
        return last, self._open_next()

    def _split(self, data: bytes) -> Iterator[bytes]:
        """Whole lines of what was read, without their ends; `position` moves with them."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            whole = self._rest + line
            self._offset += len(whole) + 1
            self._rest = b""
            if self._skipping:
                self._skipping = False
            elif whole:
                yield whole
        self._rest += rest
        if len(self._rest) > MAX_LINE:
            if not self._skipping:
                yield self._rest  # too long: it is counted as such, once
            self._skipping = True
            self._offset += len(self._rest)
            self._rest = b""


def _open(path: Path) -> IO[bytes] | None:
    try:
        return path.open("rb", buffering=0)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"--input: {path} cannot be read: {error.strerror}") from error


def _identity(file: IO[bytes]) -> tuple[int, int]:
    found = os.fstat(file.fileno())
    return found.st_dev, found.st_ino
