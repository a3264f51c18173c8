"""What pytest finds: it cannot read doctests from a module that is compiled; tests/test_compiled.py runs those."""

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

HERE = Path(__file__).parent

collect_ignore = [
    str(path.relative_to(HERE))
    for path in (HERE / "src").rglob("*.py")
    if any(path.with_name(path.stem + suffix).exists() for suffix in EXTENSION_SUFFIXES)
]
