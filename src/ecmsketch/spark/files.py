"""The fast path: workers read the files themselves, and only sketches cross to Spark.

Files are cut into splits: Parquet by row groups, CSV by byte ranges, plain worldcup98 logs by records; what is
compressed as a whole is read as a whole. Memory does not depend on the size of a file.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.fs as pfs
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from ecmsketch import worldcup98
from ecmsketch.config import SketchConfig
from ecmsketch.errors import InputError
from ecmsketch.hashing import hash_items
from ecmsketch.spark.batch import check_columns, make_recipe, partial_schema, to_batches, unite_partials
from ecmsketch.spark.partials import Events, Partial, PartialSketches, Recipe
from ecmsketch.ticks import TICKS_PER_DAY, Tick

FORMATS = ("parquet", "csv", "worldcup98")
SPLIT_BYTES = 2**27
"""A split has about as many; a task has one or more splits that follow each other."""
_BATCH_ROWS = 2**18
_BLOCK_BYTES = 2**24


class Split(NamedTuple):
    """A part of a file: row groups (Parquet), bytes (CSV) or records (worldcup98) from begin to before end."""

    path: str
    format: str
    begin: int
    end: int | None
    size: int


class Roles(NamedTuple):
    """Which column is what."""

    items: list[str]
    tick: str
    site: str | None
    weight: str | None
    unit: str | None
    names: bool
    """Whether names of items are needed, not only hashes."""

    def all(self) -> list[str]:
        """The columns to read, each once."""
        return list(dict.fromkeys([*self.items, self.tick, *filter(None, (self.site, self.weight))]))


def build_sketches_from_files(
    spark: SparkSession,
    paths: str | Sequence[str],
    config: SketchConfig,
    item: str | Sequence[str],
    tick: str,
    site: str | None = None,
    weight: str | None = None,
    *,
    format: str | None = None,
    tasks: int | None = None,
    until: Tick | None = None,
    bits: int | None = None,
    radix: int = 16,
) -> DataFrame:
    """As `build_sketches`, from files or folders of them that every worker can open: local, hdfs, s3, gs, fsspec.

    `format` is "parquet", "csv" (with a header; items and sites are texts, lines must not hold line breaks in quotes)
    or "worldcup98"; without it, file names say: .parquet, .csv, .csv.gz, else worldcup98.
    """
    recipe = make_recipe(config, bits, radix, until)
    items = [item] if isinstance(item, str) else list(item)
    roles = Roles(items, tick, site, weight, config.unit, config.heavy_hitters)
    splits = find_splits(paths, format)
    columns = _columns_of(splits[0])
    wanted = {"item": None, "tick": tick, "site": site, "weight": weight} | {f"item {n}": n for n in items}
    check_columns(list(columns), wanted)
    text = site is None or not pa.types.is_integer(columns[site])
    work = assign(splits, tasks or max(_cores(spark), -(-sum(split.size for split in splits) // (4 * SPLIT_BYTES))))

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column("id").to_pylist():
                yield from to_batches(sketch_splits(work[task], roles, recipe, task), text)

    partials = spark.range(0, len(work), 1, len(work)).mapInArrow(run, partial_schema(text))
    return unite_partials(partials, T.StringType() if text else T.LongType())


def sketch_splits(splits: list[Split], roles: Roles, recipe: Recipe, task: int) -> Iterator[Partial]:
    """Partial sketches of some splits, one after the other."""
    partials = PartialSketches(recipe, task)
    for split in splits:
        try:
            for events in _read(split, roles):
                yield from partials.add(events)
        except (OSError, EOFError, pa.ArrowException) as error:
            raise InputError(f"{split.path}: cannot be read as {split.format}: {error}") from error
    yield from partials.finish()


def find_splits(paths: str | Sequence[str], format: str | None) -> list[Split]:
    """All files under the paths, cut into splits, in the order of their names."""
    if format is not None and format not in FORMATS:
        raise InputError(f"format: expected one of {', '.join(FORMATS)}, got {format!r}")
    files = [found for path in ([paths] if isinstance(paths, str) else list(paths)) for found in _files(str(path))]
    if not files:
        raise InputError(f"paths: there are no files in {paths!r}; names that begin with _ or . are left out")
    with ThreadPoolExecutor(16) as pool:
        return [
            split
            for part in pool.map(lambda found: _split(found[0], found[1], found[2], format), files)
            for split in part
        ]


def _cores(spark: SparkSession) -> int:
    try:
        return int(spark.sparkContext.defaultParallelism)
    except PySparkException:  # Spark Connect does not say
        return 8


def assign(splits: list[Split], tasks: int) -> list[list[Split]]:
    """Splits that follow each other go to one task; tasks get about equal sizes."""
    total = max(sum(split.size for split in splits), 1)
    count = min(tasks, len(splits))
    ends = np.cumsum([split.size for split in splits])
    owner = np.minimum((ends - 1) * count // total, count - 1)
    work = [[split for split, task in zip(splits, owner, strict=True) if task == i] for i in range(count)]
    return [part for part in work if part]


def open_filesystem(path: str) -> tuple[pfs.FileSystem, str]:
    """The file system of a path or URI: pyarrow's own, or one of fsspec."""
    try:
        if "://" not in path:
            return pfs.LocalFileSystem(), path
        found: tuple[pfs.FileSystem, str] = pfs.FileSystem.from_uri(path)
        return found
    except pa.ArrowException:
        try:
            import fsspec
        except ImportError:
            raise InputError(f"{path}: pyarrow cannot open it; install fsspec for more file systems") from None
        filesystem, inside = fsspec.core.url_to_fs(path)
        return pfs.PyFileSystem(pfs.FSSpecHandler(filesystem)), inside


def _files(path: str) -> list[tuple[str, str, int]]:
    filesystem, inside = open_filesystem(path)
    prefix = path[: len(path) - len(inside)] if path.endswith(inside) else ""
    info = filesystem.get_file_info(inside)
    if info.type == pfs.FileType.NotFound:
        raise InputError(f"{path}: there is no such file or folder")
    if info.type == pfs.FileType.File:
        return [(path, inside, info.size)]
    found = filesystem.get_file_info(pfs.FileSelector(inside, recursive=True))
    return [
        (prefix + file.path, file.path, file.size)
        for file in sorted(found, key=lambda file: file.path)
        if file.type == pfs.FileType.File
        and not any(part[:1] in "_." for part in file.path[len(inside) :].split("/") if part)
    ]


def _split(path: str, inside: str, size: int, format: str | None) -> list[Split]:
    lowered = path.lower()
    kind = format or (
        "parquet" if lowered.endswith((".parquet", ".pq"))
        else "csv" if lowered.endswith((".csv", ".csv.gz", ".tsv")) else "worldcup98"
    )  # fmt: skip
    if kind == "parquet":
        return _row_groups(path, inside)
    if _is_gzip(path):
        return [Split(path, kind, 0, None, size * 5)]
    step = SPLIT_BYTES if kind == "csv" else SPLIT_BYTES // worldcup98.RECORD.itemsize
    whole = size if kind == "csv" else -(-size // worldcup98.RECORD.itemsize)
    unit = 1 if kind == "csv" else worldcup98.RECORD.itemsize
    bounds = [*range(0, max(whole, 1), step), whole]
    return [Split(path, kind, a, b, (b - a) * unit) for a, b in pairwise(bounds)]


def _row_groups(path: str, inside: str) -> list[Split]:
    filesystem, _ = open_filesystem(path)
    try:
        with filesystem.open_input_file(inside) as file:
            metadata = pq.read_metadata(file)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read as parquet: {error}") from error
    splits: list[Split] = []
    begin = size = 0
    for i in range(metadata.num_row_groups):
        size += metadata.row_group(i).total_byte_size
        if size >= SPLIT_BYTES or i + 1 == metadata.num_row_groups:
            splits.append(Split(path, "parquet", begin, i + 1, size))
            begin, size = i + 1, 0
    return splits or [Split(path, "parquet", 0, 0, 0)]


def _is_gzip(path: str) -> bool:
    filesystem, inside = open_filesystem(path)
    with filesystem.open_input_file(inside) as file:
        return bytes(file.read(2)) == b"\x1f\x8b"


def _columns_of(split: Split) -> dict[str, Any]:
    """Names and types of the columns of a file."""
    if split.format == "worldcup98":
        return dict.fromkeys(worldcup98.FIELDS, pa.int64())
    filesystem, inside = open_filesystem(split.path)
    with filesystem.open_input_file(inside) as file:
        if split.format == "parquet":
            schema = pq.read_schema(file)
            return {field.name: field.type for field in schema}
        return dict.fromkeys(_header(split.path), pa.string())


def _read(split: Split, roles: Roles) -> Iterator[Events]:
    reader = {"parquet": _read_parquet, "csv": _read_csv, "worldcup98": _read_worldcup}[split.format]
    for columns, malformed in reader(split, roles):
        yield _to_events(columns, roles, malformed)


def _read_parquet(split: Split, roles: Roles) -> Iterator[tuple[dict[str, Any], int]]:
    filesystem, inside = open_filesystem(split.path)
    with filesystem.open_input_file(inside) as source, pq.ParquetFile(source) as file:
        check_columns(file.schema_arrow.names, dict(zip(roles.all(), roles.all(), strict=True)))
        groups = list(range(split.begin, split.end or 0))
        for batch in file.iter_batches(_BATCH_ROWS, groups, roles.all(), use_threads=False):
            yield {name: batch.column(name) for name in roles.all()}, 0


def _read_worldcup(split: Split, roles: Roles) -> Iterator[tuple[dict[str, Any], int]]:
    with open_stream(split.path) as stream:
        for records in worldcup98.read_batches(stream, _BATCH_ROWS, split.begin, split.end):
            columns = worldcup98.to_columns(records)
            yield {name: pa.array(columns[name]) for name in roles.all()}, 0


def _read_csv(split: Split, roles: Roles) -> Iterator[tuple[dict[str, Any], int]]:
    names = _header(split.path)
    malformed = 0

    def skip(row: Any) -> str:
        nonlocal malformed
        malformed += 1
        return "skip"

    for block in _lines(split):
        malformed = 0
        table = pcsv.read_csv(
            io.BytesIO(block),
            pcsv.ReadOptions(column_names=names, use_threads=False),
            pcsv.ParseOptions(delimiter=_delimiter(split.path), invalid_row_handler=skip),
            pcsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), include_columns=roles.all(), strings_can_be_null=True
            ),
        )
        yield {name: table[name].combine_chunks() for name in roles.all()}, malformed


def _lines(split: Split) -> Iterator[bytes]:
    """The lines that begin inside a split, in blocks of whole lines; the header is left out."""
    with open_stream(split.path) as stream:
        at, left = split.begin, b""
        if at:
            stream.seek(at - 1)
        if at == 0 or stream.read(1) != b"\n":
            at += len(stream.readline())  # the header, or the end of a line that begins before
        while split.end is None or at < split.end:
            block = stream.read(_BLOCK_BYTES if split.end is None else min(_BLOCK_BYTES, split.end - at))
            if not block:
                break
            at += len(block)
            whole = (left + block).rfind(b"\n") + 1
            both = left + block
            if whole:
                yield both[:whole]
            left = both[whole:]
        left += stream.readline() if left and split.end is not None else b""
        if left.strip():
            yield left


def _header(path: str) -> list[str]:
    with open_stream(path) as stream:
        line = stream.readline().decode("utf-8-sig").rstrip("\r\n")
    return [name.strip().strip('"') for name in line.split(_delimiter(path))]


def _delimiter(path: str) -> str:
    return "\t" if path.lower().endswith((".tsv", ".tsv.gz")) else ","


def open_stream(path: str) -> Any:
    """A stream of plain bytes, whether the file is compressed or not."""
    filesystem, inside = open_filesystem(path)
    file = filesystem.open_input_file(inside)
    return gzip.GzipFile(fileobj=file) if _is_gzip(path) else io.BufferedReader(file, 2**20)


def _to_events(columns: dict[str, Any], roles: Roles, malformed: int) -> Events:
    items = {name: _item_column(columns[name], name) for name in roles.items}
    return Events(
        _items(items, roles),
        _tick_column(columns[roles.tick], roles),
        None if roles.site is None else _item_column(columns[roles.site], roles.site),
        None if roles.weight is None else _integers(columns[roles.weight], roles.weight),
        malformed,
    )


def _items(columns: dict[str, Any], roles: Roles) -> Any:
    """Integers as they are, others hashed, unless names are needed."""
    first = columns[roles.items[0]]
    if len(columns) == 1 and (roles.names or pa.types.is_integer(first.type)):
        return first
    if roles.names:
        return columns
    missing = None
    for column in columns.values():
        if column.null_count:
            missing = column.is_null() if missing is None else pc.or_(missing, column.is_null())
    filled = {
        name: column.fill_null(0 if pa.types.is_integer(column.type) else "") if column.null_count else column
        for name, column in columns.items()
    }
    hashed = hash_items(filled if len(filled) > 1 else filled[roles.items[0]]).view(np.int64)
    return pa.array(hashed, mask=None if missing is None else missing.to_numpy(zero_copy_only=False))


def _item_column(column: Any, name: str) -> Any:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _item_column(column.dictionary_decode(), name)
    if pa.types.is_integer(kind):
        return column.cast(pa.int64())
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return column
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) or pa.types.is_string_view(kind):
        return column
    raise InputError(f"item: expected a column of strings, binaries or integers, got {name!r} of {kind}; cast it first")


def _integers(column: Any, name: str) -> Any:
    """Whole numbers; texts that are none become null, and are counted as such."""
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    if pa.types.is_string(column.type):
        return _parsed(column, pa.int64())
    raise InputError(f"{name}: expected a column of integers, got {column.type}")


def _tick_column(column: Any, roles: Roles) -> Any:
    kind = column.type
    if pa.types.is_integer(kind):
        return column.cast(pa.int64())
    if pa.types.is_string(kind) and roles.unit is None:
        return _parsed(column, pa.int64())
    if pa.types.is_string(kind):
        numbers = _parsed(column, pa.int64())
        if numbers.null_count < len(numbers):
            return numbers
        column = _parsed(column, pa.timestamp("us"))
        kind = column.type
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        raise InputError(f"tick: expected integers, timestamps or dates, got {roles.tick!r} of {kind}")
    if roles.unit is None:
        raise InputError(f"tick: {roles.tick!r} has {kind}s, but the config has no unit; set unit='s', for example")
    micros = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    values = micros.fill_null(0).to_numpy(zero_copy_only=False)
    ticks = values * 1000 if roles.unit == "ns" else values // (TICKS_PER_DAY["us"] // TICKS_PER_DAY[roles.unit])
    return pa.array(ticks, mask=micros.is_null().to_numpy(zero_copy_only=False) if micros.null_count else None)


def _parsed(column: Any, kind: Any) -> Any:
    """Texts as numbers or moments; null where they are none."""
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return pa.array([_parse(text, kind) for text in column], kind)


def _parse(text: Any, kind: Any) -> Any:
    try:
        return text.cast(kind).as_py()
    except pa.ArrowInvalid:
        return None
