"""Files of a monitor, one for each trigger, in a folder on anything that pyarrow can write.

A folder is a path of this machine, or a URL such as s3://bucket/watch or hdfs://host/watch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from ecmsketch.errors import ConfigError
from ecmsketch.whole_files import whole_file


class TriggerFiles:
    """A folder with a file of rows for each trigger, and perhaps some texts. It is made if it is not there."""

    def __init__(self, place: str) -> None:
        self.place = place if is_url(place) else str(Path(place).absolute())
        try:
            self._system, self._path = _opened(self.place)
            self._system.create_dir(self._path, recursive=True)
        except (OSError, pa.ArrowException) as error:
            raise ConfigError(
                f"folder: {place!r} cannot be used: {error}; give a path, or a URL that pyarrow can write to"
            ) from error

    def inside(self, name: str) -> TriggerFiles:
        """A folder in this one."""
        return TriggerFiles(f"{self.place.rstrip('/')}/{name}")

    def numbers(self) -> list[int]:
        """The numbers of the triggers that have a file, in order."""
        found = self._system.get_file_info(fs.FileSelector(self._path))
        return sorted(int(file.base_name.split(".")[0]) for file in found if file.extension == "parquet")

    def put(self, number: int, *rows: dict[str, Any]) -> None:
        """Write the rows of a trigger into its file."""
        made = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(list(rows)), made)
        self._write(_name_of(number), made.getvalue().to_pybytes())

    def read(self, number: int) -> list[dict[str, Any]]:
        """The rows of a trigger."""
        with self._system.open_input_file(self._file(_name_of(number))) as file:
            return list(pq.read_table(file).to_pylist())

    def delete(self, number: int) -> None:
        """Delete the file of a trigger, if it is there."""
        try:
            self._system.delete_file(self._file(_name_of(number)))
        except FileNotFoundError:
            return

    def put_text(self, name: str, text: str) -> None:
        """Write a text into a file of this name."""
        self._write(name, text.encode())

    def text(self, name: str) -> str | None:
        """The text in a file of this name, None if there is none."""
        try:
            with self._system.open_input_stream(self._file(name)) as file:
                return bytes(file.read()).decode()
        except FileNotFoundError:
            return None

    def _file(self, name: str) -> str:
        return f"{self._path.rstrip('/')}/{name}"

    def _write(self, name: str, data: bytes) -> None:
        """Write a file so that nobody sees a part of it. Object stores do that by themselves."""
        if isinstance(self._system, fs.LocalFileSystem):
            with whole_file(Path(self._file(name))) as part:
                Path(part).write_bytes(data)
            return
        with self._system.open_output_stream(self._file(name)) as file:
            file.write(data)


def is_url(place: str) -> bool:
    """Whether a place is a URL and no path of this machine."""
    return "://" in place


def _opened(place: str) -> tuple[Any, str]:
    """The file system of a place, and its path there."""
    found: tuple[Any, str] = fs.FileSystem.from_uri(place)
    return found


def _name_of(number: int) -> str:
    return f"{number:012d}.parquet"
