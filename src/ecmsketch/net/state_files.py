"""State that outlives a process: one file in a folder that one process may use at a time.

A file is there as a whole or not at all: it is written beside the old one, brought to the disk, and takes its place.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
from pathlib import Path
from typing import IO, Any
from zlib import crc32

from ecmsketch.errors import ConfigError, FormatError
from ecmsketch.whole_files import whole_file

_MAGIC = b"ECMN\x01"
_SIZES = struct.Struct("<IQI")
"""Bytes of the facts, bytes of the data, checksum of both."""


class StateFolder:
    """A folder that belongs to one process while it runs, with the state of that process."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock: IO[bytes] = (folder / f"{name}.lock").open("ab")
        except OSError as error:
            raise ConfigError(f"--state: {folder} cannot be written to: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise ConfigError(
                f"--state: {folder} is in use by another process; stop that, or give another folder"
            ) from None

    def read(self) -> tuple[dict[str, Any], bytes] | None:
        """The facts and the data that were written last; None if there are none yet."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return None
        return _unpack(data, self._path)

    def write(self, facts: dict[str, Any], data: bytes) -> None:
        """Keep facts (for JSON) and data; they are on the disk when this returns."""
        packed = json.dumps(facts, ensure_ascii=False).encode()
        with whole_file(self._path) as part, part.open("wb") as file:
            file.write(_MAGIC + _SIZES.pack(len(packed), len(data), crc32(data, crc32(packed))))
            file.write(packed)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the new name too
        finally:
            os.close(folder)

    def close(self) -> None:
        """Let other processes use the folder."""
        self._lock.close()


def _unpack(data: bytes, path: Path) -> tuple[dict[str, Any], bytes]:
    head = len(_MAGIC) + _SIZES.size
    if len(data) < head or not data.startswith(_MAGIC):
        raise FormatError(f"{path}: this is not a state that ecmsketch wrote; delete it, or give another folder")
    size, rest, checksum = _SIZES.unpack_from(data, len(_MAGIC))
    if len(data) != head + size + rest or crc32(data[head:]) != checksum:
        raise FormatError(f"{path}: the state is damaged; delete it to begin anew")
    facts: dict[str, Any] = json.loads(data[head : head + size])
    return facts, data[head + size :]
