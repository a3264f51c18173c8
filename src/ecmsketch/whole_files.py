"""Files that are there as a whole or not at all, whoever reads them and whenever the writer stops."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yields another path beside `path` to write to; what was written takes its place at the end.

    If an error is raised, the file at `path` stays as it was and the other one is deleted.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
