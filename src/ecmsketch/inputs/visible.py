"""Text from data made safe to print: no character of it controls the terminal or is invisible."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""Replace characters that are not printable as Python's repr does: ESC by \x1b, a line end by \n.

    Control characters, marks that change the direction of writing, characters of zero width and spaces other than the
    plain one are not printable. So two names that differ only in one of these look different.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
