"""An Iceberg table is counted through a plain DataFrame.

Iceberg's package is built for one version of Spark; the newest is for 4.1, which pip fetches once. The day there is a
package for the installed Spark, use it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from maven.artifacts import answers_of, for_spark, jars_or_skip, pyspark_or_skip

pytestmark = pytest.mark.maven
SPARK = "4.1.4"
ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
SCRIPT = Path(__file__).with_name("iceberg_session.py")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What a Spark session with the package counts, run once in a process of its own."""
    spark = pyspark_or_skip(SPARK)
    return answers_of(SCRIPT, spark, for_spark(jars_or_skip(ICEBERG), spark), tmp_path_factory.mktemp("iceberg"))


def test_it_runs_on_the_spark_that_it_is_built_for(answers):
    assert answers["spark"] == SPARK


def test_an_iceberg_table_is_a_source(answers):
    assert answers["now"]["source"] == answers["now"]["exact"] == {"a": 400, "b": 600, "late": 1}
    assert answers["now"]["total of the source"] == 1001


def test_an_older_snapshot_of_it_is_a_source(answers):
    assert answers["first"]["source"] == answers["first"]["exact"] == {"a": 400, "b": 600}
    assert answers["first"]["total of the source"] == 1000
