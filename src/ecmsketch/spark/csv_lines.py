"""Lines of CSV files: any part of a file, cut at bytes, gives the lines that begin in it, each exactly once.

Lines must not hold line breaks in quotes. The first line names the columns.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv

from ecmsketch.errors import InputError
from ecmsketch.spark.file_opening import open_stream

BLOCK_BYTES = 2**24
"""Bytes that are parsed at a time."""
_SAMPLE_BYTES = 2**16


def header(path: str) -> list[str]:
    """The names of the columns, as the first line gives them; a name in quotes may hold a delimiter."""
    with open_stream(path) as stream:
        line = stream.readline().decode("utf-8-sig").rstrip("\r\n")
    try:
        names = next(csv.reader([line], delimiter=_delimiter(path), skipinitialspace=True), [])
    except csv.Error as error:
        raise InputError(f"{path}: cannot be read as csv: {error}") from error
    return [name.strip() for name in names]


def first_lines(path: str) -> bytes:
    """Some whole lines after the header."""
    with open_stream(path) as stream:
        stream.readline()
        block: bytes = stream.read(_SAMPLE_BYTES)
    whole = block.rfind(b"\n") + 1
    return block[: whole or len(block)]


def read_lines(path: str, begin: int, end: int | None) -> Iterator[bytes]:
    """The lines that begin between two bytes, in blocks of whole lines; the header is left out."""
    with open_stream(path) as stream:
        at, left = begin, b""
        if at:
            stream.seek(at - 1)
        if at == 0 or stream.read(1) != b"\n":
            at += len(stream.readline())  # the header, or the end of a line that begins before
        while end is None or at < end:
            block = stream.read(BLOCK_BYTES if end is None else min(BLOCK_BYTES, end - at))
            if not block:
                break
            at += len(block)
            both = left + block
            whole = both.rfind(b"\n") + 1
            if whole:
                yield both[:whole]
            left = both[whole:]
        left += stream.readline() if left and end is not None else b""
        if left.strip():
            yield left


def parse_lines(block: bytes, path: str, names: list[str], wanted: list[str]) -> tuple[Any, int]:
    """A table of some columns of some lines, as texts, and how many lines had too many or too few columns.

    Texts are not checked to be UTF-8.
    """
    malformed = 0

    def skip(row: Any) -> str:
        nonlocal malformed
        malformed += 1
        return "skip"

    table = pcsv.read_csv(
        io.BytesIO(block),
        pcsv.ReadOptions(column_names=names, use_threads=False),
        pcsv.ParseOptions(delimiter=_delimiter(path), invalid_row_handler=skip),
        pcsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), include_columns=wanted, strings_can_be_null=True,
            check_utf8=False,
        ),
    )  # fmt: skip
    return table, malformed


def _delimiter(path: str) -> str:
    return "\t" if path.lower().endswith((".tsv", ".tsv.gz")) else ","
