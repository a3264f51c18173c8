"""The notebook about a day of logs: Spark builds, the store keeps, and answers agree with exact counts."""

from __future__ import annotations

import pytest

from notebook_runner import run_notebook

SETTING = "spark.sql.shuffle.partitions"


@pytest.fixture
def settings_kept(spark):
    """The notebook takes the session of these tests, and changes one of its settings."""
    before = spark.conf.get(SETTING)
    yield
    spark.conf.set(SETTING, before)
    spark.catalog.dropTempView("sketches")


def test_a_day_of_logs_on_spark(settings_kept, capsys):
    found = run_notebook("logs_on_spark.ipynb")
    rows, everywhere = found["rows"], found["everywhere"]
    assert len(rows) == len(found["store"].sites()) == 33
    assert sum(row["events"] for row in rows) == found["written"] == 200_000
    assert sum(row["rejected"] for row in rows) == 0
    assert len(found["answers"]) == 12
    assert [answer for answer in found["answers"] if not answer[1].covers(answer[2])] == []
    estimates = found["series"].estimates
    assert (estimates.lower <= found["by_step"]).all()
    assert (found["by_step"] <= estimates.upper).all()
    assert found["from_store"].total().covers(200_000)
    assert everywhere.total() == found["from_store"].total()
    assert found["pictures"] == 1
    assert "200,000 requests" in capsys.readouterr().out
    found["sketches"].unpersist()
    found["folder"].cleanup()
