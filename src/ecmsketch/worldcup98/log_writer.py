"""Write records to a file."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ecmsketch.worldcup98.records import as_records


def write_log(path: str | Path, batches: Iterable[NDArray[Any]], compress: bool) -> int:
    """Write records to a file, as gzip or plain, and return how many. Equal records give equal bytes."""
    written = 0
    with open(path, "wb") as file:
        packed = gzip.GzipFile("", "wb", compresslevel=1, fileobj=file, mtime=0) if compress else nullcontext(file)
        with packed as target:
            for batch in batches:
                target.write(as_records(batch).tobytes())
                written += len(batch)
    return written
