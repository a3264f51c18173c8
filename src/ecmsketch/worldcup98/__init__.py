"""The access log of the 1998 World Cup web site: read and write its 20-byte binary records in batches.

>>> import io
>>> log = io.BytesIO(bytes.fromhex("358d3a270000003700000003ffffffff004d0160"))
>>> for records in read_batches(log):
...     columns = to_columns(records)
...     print(columns["object"], columns["status"], columns["size"], server_name(columns["server"][0]))
[3] [304] [-1] paris-0
"""

from ecmsketch.worldcup98.log_columns import COLUMNS, from_columns, to_columns
from ecmsketch.worldcup98.log_reader import open_log, read_batches
from ecmsketch.worldcup98.log_writer import write_log
from ecmsketch.worldcup98.records import (
    FIELDS,
    METHODS,
    NO_SIZE,
    RECORD,
    REGIONS,
    SERVERS,
    STATUSES,
    TYPES,
    VERSIONS,
    server_name,
)

__all__ = [
    "COLUMNS",
    "FIELDS",
    "METHODS",
    "NO_SIZE",
    "RECORD",
    "REGIONS",
    "SERVERS",
    "STATUSES",
    "TYPES",
    "VERSIONS",
    "from_columns",
    "open_log",
    "read_batches",
    "server_name",
    "to_columns",
    "write_log",
]
