"""What is kept of sites as bytes, which group they belong to, and their packs: nothing is lost, whatever the names."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import Row

import ecmsketch as ecm
from ecmsketch.spark.cleaning import Events
from ecmsketch.spark.clocks import Clock
from ecmsketch.spark.gathered_rows import GatheredEvents
from ecmsketch.spark.group_packing import BY_GROUP, unpack_sites
from ecmsketch.spark.recipe import Recipe
from ecmsketch.spark.site_buckets import Bucket, SiteRecord
from ecmsketch.spark.site_groups import GROUPS, group_of, hash_sites

CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=600, unit="s", late="side", lateness=60)
DAY = 86_400

ticks = st.none() | st.integers(-(2**61), 2**62)
clocks = st.builds(Clock, ticks, st.booleans(), ticks, ticks, ticks)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def records(site):
    reasons = st.dictionaries(texts, st.integers(1, 2**62), max_size=3)
    counts = st.integers(0, 2**62)
    sketches = st.none() | st.binary(max_size=60)
    return st.builds(SiteRecord, site, counts, ticks, counts, clocks, reasons, st.booleans(), sketches)


def many(site):
    return st.lists(records(st.none() | site), max_size=12, unique_by=lambda record: record.site)


@given(st.one_of(many(texts), many(st.integers(-(2**63), 2**63 - 1))))
def test_a_bucket_is_what_its_bytes_say(given_records):
    text = not any(isinstance(record.site, int) for record in given_records)
    bucket = Bucket.decode(Bucket.new(text).replaced([], given_records, text).encode(), text)
    places = list(range(len(given_records)))
    assert bucket.records(places) == given_records
    assert bucket.sites == [record.site for record in given_records]
    assert bucket.due == min((record.due for record in given_records), default=2**62)
    for moment in (0, 10, 2**61):
        assert bucket.due_by(moment) == [i for i, record in enumerate(given_records) if record.due <= moment]
    odd = places[1::2]
    kept = bucket.replaced(odd, [given_records[i] for i in odd], text)
    assert kept.records(list(range(len(kept)))) == given_records[::2] + given_records[1::2]
    halves = bucket.split(3)
    assert sorted(repr(site) for half in halves for site in half.sites) == sorted(map(repr, bucket.sites))


@given(st.one_of(st.lists(st.none() | texts, unique=True), st.lists(st.none() | st.integers(-(2**63), 2**63 - 1))))
def test_a_site_has_one_group_whatever_comes_with_it(sites):
    groups = group_of(hash_sites(sites)).tolist()
    assert all(0 <= group < GROUPS for group in groups)
    for site, group in zip(sites, groups, strict=True):
        assert group_of(hash_sites([site])).tolist() == [group]


def test_groups_are_even_and_stay_what_they_are():
    """A checkpoint depends on them."""
    names = [f"server-{i}" for i in range(50_000)]
    for sites in (names, list(range(50_000))):
        sizes = np.bincount(group_of(hash_sites(sites)), minlength=GROUPS)
        assert sizes.min() > 120
        assert sizes.max() < 280
    assert group_of(hash_sites(["athens", "berlin", "server-7"])).tolist() == [123, 200, 171]
    assert group_of(hash_sites([7, -7, 2**40])).tolist() == [20, 243, 248]


SOME_SITES = st.sampled_from([None, "", "a", "b", "c" * 1025, "d"])
SOME_ROWS = st.tuples(SOME_SITES, st.integers(0, 9), st.none() | st.integers(0, 50))


@settings(max_examples=30)
@given(st.lists(SOME_ROWS, max_size=40), st.integers(1, 3))
def test_packs_lose_nothing_and_keep_the_order(rows, files):
    recipe = Recipe(CONFIG)
    packs = {}
    for part in range(files):
        gathered = GatheredEvents(recipe)
        sites, items, moments = zip(*rows[part::files], strict=True) if rows[part::files] else ((), (), ())
        gathered.add(Events(pa.array(items, pa.int64()), pa.array(moments, pa.int64()), pa.array(sites, pa.string())))
        for pack in BY_GROUP.pack(gathered, part, True, "s", DAY).to_pylist():
            packs.setdefault(pack["group"], []).append(Row(**pack))
    found = [one for some in packs.values() for one in unpack_sites(some)]
    assert len({one.site for one in found}) == len(found)
    counted = sum(len(one.rows.ticks) for one in found if one.rows is not None)
    rejected = sum(sum(one.reasons.values()) for one in found)
    assert counted + rejected == len(rows)
    for one in found:
        mine = [row for part in range(files) for row in rows[part::files] if row[0] == one.site and row[2] is not None]
        if one.rows is not None:
            mine.sort(key=lambda row: row[2])
            assert [(one.rows.items[i], one.rows.ticks[i]) for i in range(len(one.rows.ticks))] == [
                row[1:] for row in mine
            ]
