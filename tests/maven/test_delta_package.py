"""Spark's own delta package reads stores as we write them, and Delta tables of Spark are counted like any DataFrame.

The package is built for one version of Spark. The newest is for 4.2, and fails in 4.3 as soon as it plans a query.
So the session runs on pyspark 4.2, which pip fetches once. The day there is a package for the installed Spark, use it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import ecmsketch as ecm
from ecmsketch.store import SketchRow, SketchStore, neighbour_groups
from maven.artifacts import answers_of, for_spark, jars_or_skip, pyspark_or_skip

pytestmark = pytest.mark.maven
SPARK = "4.2.0"
DELTA = "io.delta:delta-spark_4.2_2.13:4.4.0"
SCRIPT = Path(__file__).with_name("delta_session.py")
CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=100_000)


def sketch(tick):
    made = ecm.EcmSketch(CONFIG)
    made.update_many([1, 2], [tick, tick + 1])
    return made


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What a Spark session with the package says of a store and of a table, run once in a process of its own."""
    folder = tmp_path_factory.mktemp("delta")
    store = SketchStore(folder / "store")
    for batch in range(20):  # a checkpoint, and files that were put together
        rows = [SketchRow(f"site {i}", sketch(10 * batch), 2, "snapshot") for i in range(batch % 3, 9)]
        store.append_once(rows, "web", batch)
    store.append([SketchRow("site 1", sketch(5)), SketchRow("alone", sketch(7))])
    store.append_once([SketchRow("gone", sketch(1))], "old", 0)
    store.forget("old")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbour_groups, "SITES", 3)
        store.everywhere()
    spark = pyspark_or_skip(SPARK)
    packages = for_spark(jars_or_skip(DELTA), spark)
    rows = sorted([r.site, r.version, r.position, r.bytes] for site in store.sites() for r in store.history(site))
    return store, rows, answers_of(SCRIPT, spark, packages, folder)


def test_it_runs_on_the_spark_that_it_is_built_for(answers):
    *_, said = answers
    assert said["spark"] == SPARK


def test_it_reads_all_rows_of_a_store(answers):
    _, rows, said = answers
    assert len(rows) == 163  # 161 of the stream, 2 of another writer, none of the one that was forgotten
    assert said["rows"] == rows


def test_it_reads_one_site_after_compacting_and_a_vacuum(answers):
    store, _, said = answers
    assert said["compacted"] == len(store.sites()) + 1  # rows of two writers for one of them
    assert said["sketch of one site"] == store.latest("alone")["alone"].serialize().hex()


def test_its_vacuum_leaves_what_is_kept_of_all_sites(answers):
    store, _, said = answers
    assert said["kept before"] == said["kept after"]
    assert store.everywhere().total().value == said["total"]


def test_a_delta_table_of_spark_is_a_source(answers):
    *_, said = answers
    assert said["source"] == said["exact"] == {"a": 400, "b": 600}
    assert said["total of the source"] == 1000
