"""Which query writes: what `query_id` makes of what classic Spark and Spark Connect tell it. No Spark is started."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ecmsketch.errors import InputError
from ecmsketch.spark.query_identity import query_id


def connect(*queries):
    """A trigger's rows and the session that started the query: on Connect neither has a SparkContext."""
    active = [SimpleNamespace(name=name, id=number) for name, number in queries]
    trigger = SimpleNamespace(streams=SimpleNamespace(active=[]))
    return SimpleNamespace(sparkSession=trigger), SimpleNamespace(streams=SimpleNamespace(active=active))


def test_on_classic_spark_the_thread_is_told():
    context = SimpleNamespace(getLocalProperty={"sql.streaming.queryId": "1234"}.get)
    batch = SimpleNamespace(sparkSession=SimpleNamespace(sparkContext=context))
    assert query_id(batch, None, "web") == "1234"


def test_on_connect_the_session_is_asked_by_the_querys_name():
    assert query_id(*connect(("mail", "1"), ("web", "2")), "web") == "2"
    assert query_id(*connect(("web", "3")), "web") == "3"  # with another checkpoint it has another id


def test_a_query_of_another_name_is_never_taken_for_it():
    with pytest.raises(InputError, match=r"expected one query called 'web'.*leave queryName"):
        query_id(*connect((None, "1"), ("mail", "2")), "web")
