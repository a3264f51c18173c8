"""The command line. Nothing heavy is imported before a command runs, so help and usage errors appear at once."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import NoReturn, cast


def script() -> NoReturn:
    """Run `ecmsketch` as a process of its own."""
    from ecmsketch.cli.leaving import leave_early

    with leave_early():
        main()


def main() -> NoReturn:
    """Run `ecmsketch`. The exit code is 0, 1 if the data or the question was wrong, or 2 if the command line was."""
    try:
        from ecmsketch.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"ecmsketch: the command line needs {error.name}. Run: pip install 'ecmsketch[cli]'")
    from typer import BadParameter, rich_utils

    from ecmsketch.errors import EcmError
    from ecmsketch.inputs.visible import visible

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # show characters that the terminal lacks by their numbers
    for word in sys.argv[1:]:
        if not _is_utf8(word):
            sys.stderr.write(f"ecmsketch: arguments: expected UTF-8, got {visible(word)}; rename or convert it\n")
            sys.exit(2)
    # The root of click's errors: typer contains its own copy of click and does not export it.
    click_error = cast("type[BadParameter]", BadParameter.__mro__[2])
    try:
        sys.exit(app(standalone_mode=False))
    except EcmError as error:
        sys.stderr.write(f"ecmsketch: {visible(str(error))}\n")
        sys.exit(1)
    except click_error as error:
        error.message = visible(error.message)
        rich_utils.rich_format_error(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)


def _is_utf8(word: str) -> bool:
    """Whether an argument is UTF-8. Other bytes arrive as surrogates, which neither Arrow nor Delta accept."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True
