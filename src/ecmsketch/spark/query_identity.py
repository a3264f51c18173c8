"""The id of a running query, by which stores know which query wrote a trigger's rows."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from ecmsketch.errors import InputError


def query_id(batch: DataFrame, session: Any, name: str) -> str:
    """The id of the query that gave a trigger's rows. It stays the same for as long as the query's checkpoint does.

    Spark tells it to the thread that the rows are handed to. On Spark Connect that thread is in a process of its own,
    so there the session that started the query (a trigger has one of its own) is asked for it by the query's name.
    """
    context = getattr(batch.sparkSession, "sparkContext", None)  # Spark Connect has none
    told = None if context is None else context.getLocalProperty("sql.streaming.queryId")
    if told is not None:
        return str(told)
    found = [str(query.id) for query in session.streams.active if query.name == name]
    if len(found) != 1:
        raise InputError(
            f"name: expected one query called {name!r} in its session, got {len(found)}; "
            "give the name to write_to_store or monitor_sites, and leave queryName(...) out"
        )
    return found[0]
