"""A hash of the sources that results depend on, so that changed code runs its experiments again."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

SUFFIXES = (".py", ".pxd", ".pyx", ".csv")
"""Code, and the tables that generated logs are drawn from."""
WITHOUT_EFFECT = ("cli/", "experiments/report/", "experiments/scales.py", "alerts/", "net/", "serve/", "store/")
"""What only starts experiments, or only shows their results; and rooms that no experiment enters."""


@cache
def source_hash() -> str:
    """The hash of this package's sources."""
    return hash_folder(Path(__file__).parents[1])


def hash_folder(package: Path) -> str:
    """The SHA-256 of the names and bytes of all files that results depend on."""
    digest = hashlib.sha256()
    for path in sorted(path for path in package.rglob("*") if path.suffix in SUFFIXES):
        name = path.relative_to(package).as_posix()
        if not name.startswith(WITHOUT_EFFECT):
            content = path.read_bytes()
            digest.update(f"{name}\n{len(content)}\n".encode() + content)
    return digest.hexdigest()
