"""The command line. Help and usage errors come at once: nothing heavy is imported before a command runs."""

from __future__ import annotations

import sys


def main() -> None:
    """Run `ecmsketch`: exit code 0, 1 if the data or the question was wrong, 2 if the command line was."""
    try:
        from ecmsketch.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"ecmsketch: the command line needs {error.name}; pip install 'ecmsketch[cli]'")
    from ecmsketch.errors import EcmError

    try:
        app()
    except EcmError as error:
        sys.stderr.write(f"ecmsketch: {error}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
