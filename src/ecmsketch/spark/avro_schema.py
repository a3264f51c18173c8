"""Avro schemas of messages, extended by an end, which shows whether a message was decoded to its last byte.

Plain Avro has no marks in it: a decoder ignores bytes that follow, and bytes of another schema often decode to
something. With END behind every message, and a last field of its size, that field holds END only after a message that
ended where its schema says.
"""

from __future__ import annotations

import json

from ecmsketch.errors import InputError

END = b"\xee\x00ecm\x00\xff\xee"
END_FIELD = "ecmsketch_end"

LIMITS = " ".join(
    f"-Dorg.apache.avro.limits.{what}.maxLength={2**24}" for what in ("bytes", "string", "collectionItems")
)
"""Java options for Spark. Without them a few bytes that claim to be a text of 2 GB take the memory for it."""


def with_end(schema: str) -> tuple[list[str], str]:
    """The names of a record's fields, and the schema of the record with the end."""
    try:
        given = json.loads(schema)
    except ValueError as error:
        raise InputError(f"schema: expected an Avro schema as JSON, got {schema[:40]!r}: {error}") from error
    if not isinstance(given, dict) or given.get("type") != "record" or not isinstance(given.get("fields"), list):
        raise InputError('schema: expected the Avro schema of a record, {"type": "record", "fields": [...], ...}')
    names = [
        field["name"] for field in given["fields"] if isinstance(field, dict) and isinstance(field.get("name"), str)
    ]
    if len(names) < len(given["fields"]):
        raise InputError('schema: expected fields such as {"name": "url", "type": "string"}, got one without a name')
    end = {"name": END_FIELD, "type": {"type": "fixed", "name": END_FIELD, "size": len(END)}}
    return names, json.dumps({**given, "fields": [*given["fields"], end]})
