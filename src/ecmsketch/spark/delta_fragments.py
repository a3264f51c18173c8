"""The files of a Delta table's newest version, as pyarrow.dataset reads them. Needs the extra `store`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.fs as pfs

from ecmsketch.errors import InputError


def is_delta(filesystem: pfs.FileSystem, folder: str) -> bool:
    """Whether a folder is a Delta table. Its files alone would also count rows that were deleted or rewritten."""
    return bool(filesystem.get_file_info(f"{folder}/_delta_log").type == pfs.FileType.Directory)


def delta_fragments(path: str) -> tuple[Any, list[Any]]:
    """The schema of a Delta table, and its files in the order of their names."""
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ImportError:
        raise InputError(f"{path}: a Delta table needs deltalake; pip install 'ecmsketch[store]'") from None
    try:
        dataset = DeltaTable(path).to_pyarrow_dataset()
    except (DeltaError, OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read as delta: {error}") from error
    return dataset.schema, sorted(dataset.get_fragments(), key=lambda fragment: str(fragment.path))
