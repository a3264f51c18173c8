"""Generated logs: exact totals, the same however they are made, and like the real counts within stated margins."""

from __future__ import annotations

import pickle
import time
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecmsketch.errors import ConfigError, InputError
from ecmsketch.generate import SnmpLog, WorldCupLog, Zipf, facts
from ecmsketch.generate.facts.derive import derive
from ecmsketch.generate.lottery import make_tickets
from ecmsketch.worldcup98 import RECORD, SERVERS, open_log, read_batches, to_columns, write_log

LOGS = [WorldCupLog, SnmpLog]


def columns_of(log, index):
    made = log.slice(index)
    return made if isinstance(made, dict) else to_columns(made)


def whole(log):
    slices = [columns_of(log, i) for i in range(log.slices)]
    return {name: np.concatenate([part[name] for part in slices]) for name in slices[0]}


def frequencies(values):
    return np.sort(np.unique(values, return_counts=True)[1])[::-1]


@pytest.fixture(scope="module")
def day50():
    return whole(WorldCupLog(4_000_000))


@pytest.mark.parametrize("kind", LOGS)
@given(
    events=st.integers(1, 2_000_000),
    seed=st.integers(0, 2**70),
    days=st.integers(1, 40),
)
def test_slices_tile_the_log_and_add_up(kind, events, seed, days):
    log = kind(events, seed, days=days)
    assert sum(log.slice_events(i) for i in range(log.slices)) == events
    spans = [log.slice_span(i) for i in range(log.slices)]
    assert all(last + 1 == first for (_, last), (first, _) in pairwise(spans))
    assert spans[-1][1] - spans[0][0] + 1 == 86_400 * days
    index = seed % log.slices
    times = columns_of(log, index)["timestamp"]
    assert len(times) == log.slice_events(index)
    assert (np.diff(times) >= 0).all()
    assert spans[index][0] <= times[0]
    assert times[-1] <= spans[index][1]


@pytest.mark.parametrize("kind", LOGS)
def test_a_slice_follows_from_the_log_and_its_number_alone(kind):
    log = kind(1_000_000, seed=3)
    backwards = [log.slice(i) for i in reversed(range(log.slices))][::-1]
    copied = pickle.loads(pickle.dumps(log))
    assert copied == log
    assert len(pickle.dumps(log)) < 1000
    for i, made in enumerate(backwards):
        again = copied.slice(i)
        for name in made if isinstance(made, dict) else made.dtype.names:
            np.testing.assert_array_equal(made[name], again[name])
    other = kind(1_000_000, seed=4).slice(0)
    assert (other["timestamp"][:1000] != backwards[0]["timestamp"][:1000]).any()
    assert (backwards[1]["timestamp"][:1000] - backwards[1]["timestamp"][0] != other["timestamp"][:1000]).any()


@pytest.mark.parametrize("kind", LOGS)
def test_the_whole_is_sorted_and_exact(kind):
    log = kind(1_234_567, days=3)
    columns = whole(log)
    assert log.slices == 5
    assert {len(column) for column in columns.values()} == {1_234_567}
    assert {column.dtype for column in columns.values()} == {np.dtype(np.int64)}
    assert (np.diff(columns["timestamp"]) >= 0).all()


@pytest.mark.parametrize("kind", LOGS)
def test_a_billion_events_take_no_more_memory_than_a_slice(kind):
    log = kind(1_000_000_000, days=7)
    kind(1).slice(0)  # tables that all logs share
    tracemalloc.start()
    started = time.monotonic()
    try:
        for index in (0, log.slices - 1):
            assert abs(len(columns_of(log, index)["timestamp"]) - 250_000) < 25_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert log.slices == 4000
    assert sum(log.slice_events(i) for i in range(log.slices)) == 1_000_000_000
    assert peak < 100e6
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("kind", LOGS)
def test_slices_never_get_shorter_than_a_second(kind):
    log = kind(10**12, days=1)
    assert log.slices <= 86_400
    assert sum(log.slice_events(i) for i in range(log.slices)) == 10**12


@pytest.mark.parametrize("kind", LOGS)
def test_what_is_generated_says_so(kind):
    assert kind(1000).describe().startswith("generated: 1,000 ")
    assert "generated" in kind.__doc__
    assert "days, times of day and servers follow the real counts" in WorldCupLog(10, days=3).describe()
    assert "14 June to 16 June 1998" in WorldCupLog(10, days=3).describe()


def test_servers_have_their_real_shares(day50):
    """Within five standard deviations, half a percent for times of day in steps of ten minutes, and one ticket."""
    requests = facts.server_requests()[50 - facts.DAYS[0]]
    shares = requests / requests.sum()
    found = np.bincount(day50["server"], minlength=128)[list(SERVERS)] / len(day50["server"])
    assert (found[shares == 0] == 0).all()
    assert (np.abs(found - shares) <= 5 * np.sqrt(shares / len(day50["server"])) + 0.005 * shares + 2**-16).all()


def test_servers_change_with_the_hour(day50):
    """Within a percentage point: as the real files of the day have it."""
    starts, requests = facts.file_requests()
    files = np.flatnonzero((starts > facts.midnight(50)) & (starts < facts.midnight(51)))
    ends = np.append(starts[files[1:]], facts.midnight(51))
    assert len(files) == 4
    for file, end in zip(files, ends, strict=True):
        inside = (day50["timestamp"] >= starts[file]) & (day50["timestamp"] < end)
        found = np.bincount(day50["server"][inside], minlength=128)[list(SERVERS)] / inside.sum()
        assert np.abs(found - requests[file] / requests[file].sum()).max() < 0.01


def test_requests_are_three_columns_of_the_records():
    log = WorldCupLog(300_000, seed=3, day=20, days=5)
    for index in range(log.slices):
        records = log.slice(index)
        for name, column in log.requests(index).items():
            assert column.dtype == np.int64
            assert (column == records[name]).all()


def test_hours_have_their_real_shares(shared_data, day50):
    """Within 2 % of the real counts per hour, of which the profile has kept ten-minute steps in parts of 10,000."""
    lines = np.genfromtxt(shared_data / "wc98" / "requests_per_minute.csv.gz", delimiter=",", dtype=None, skip_header=1)
    times = lines["f0"].astype("datetime64[s]").astype(np.int64)
    real = np.bincount((times - facts.midnight(0)) // 3600, lines["f1"])[50 * 24 : 51 * 24]
    found = np.bincount((day50["timestamp"] - facts.midnight(50)) // 3600)
    assert np.abs(found / found.sum() / (real / real.sum()) - 1).max() < 0.02


def test_days_have_their_real_shares():
    log = WorldCupLog(10_000_000, day=5, days=88)
    requests = facts.server_requests().sum(axis=1)
    counts = np.zeros(88)
    for i in range(log.slices):
        counts += np.bincount((log.slice(i)["timestamp"] - facts.midnight(5)) // 86_400, minlength=88)
    expected = requests / requests.sum() * log.events
    assert (np.abs(counts - expected) <= 5 * np.sqrt(expected) + 1).all()


def test_objects_are_as_skewed_as_real_ones(shared_data, day50):
    """Of the 10,000 real records and as many generated ones in the same seconds; the law was fitted to these."""
    with open_log(shared_data / "wc98" / "wc_day50_4.head") as stream:
        real = to_columns(next(read_batches(stream)))
    for name, margin in (("object", 0.15), ("client", 0.25)):
        start = np.searchsorted(day50["timestamp"], real["timestamp"][0])
        counts, made = frequencies(real[name]), frequencies(day50[name][start : start + 10_000])
        assert len(made) == pytest.approx(len(counts), rel=margin)
        assert made[:10].sum() == pytest.approx(counts[:10].sum(), rel=margin)
        assert made[:100].sum() == pytest.approx(counts[:100].sum(), rel=margin)
        assert (made**2).sum() == pytest.approx((counts**2).sum(), rel=margin)


def test_popularity_of_objects_is_the_law_asked_for(day50):
    plain = whole(WorldCupLog(500_000, exponent=1.1, shift=0, objects=1000))
    counts = frequencies(plain["object"])[:100]
    slope = np.polyfit(np.log(np.arange(1, 101)), np.log(counts), 1)[0]
    assert slope == pytest.approx(-1.1, abs=0.05)
    assert plain["object"].max() < 1000
    popular = np.bincount(day50["object"]).argsort()[-100:]
    assert popular.std() > 20_000  # not the first hundred numbers, but spread over all
    again = whole(WorldCupLog(500_000, seed=9))["object"]
    assert len(np.intersect1d(popular, np.bincount(again).argsort()[-100:])) > 80


def test_requests_are_plausible(day50):
    assert np.mean(day50["status"] == 200) == pytest.approx(0.8828, abs=0.002)
    assert np.mean(day50["method"] == 0) == pytest.approx(0.9986, abs=0.001)
    assert np.mean(day50["type"] == 1) == pytest.approx(0.8683, abs=0.05)
    assert 2_000 < np.maximum(day50["size"], 0).mean() < 10_000
    assert (day50["size"][day50["status"] == 200] > 0).all()
    assert (day50["size"][day50["status"] == 304] <= 0).all()
    ids, first = np.unique(day50["object"], return_index=True)
    types = np.zeros(89_997, np.int64)
    types[ids] = day50["type"][first]
    assert (types[day50["object"]] == day50["type"]).all()


def test_generated_records_are_a_readable_log(tmp_path):
    log = WorldCupLog(600_000, day=62)
    assert log.slice(0).dtype == RECORD
    assert write_log(tmp_path / "log", (log.slice(i) for i in range(log.slices)), compress=False) == 600_000
    with open_log(tmp_path / "log") as stream:
        records = np.concatenate(list(read_batches(stream)))
    assert np.isin(records["server"], SERVERS).all()
    assert len(records) == 600_000


def test_a_tiny_log_may_span_all_days():
    columns = whole(WorldCupLog(7, day=5, days=88))
    assert len(columns["timestamp"]) == 7


def test_snmp_has_days_weeks_sites_and_addresses():
    columns = whole(SnmpLog(2_000_000))
    hours = np.bincount((columns["timestamp"] - 5 * 3600) // 3600 % 24)
    assert hours.argmax() == 14
    assert hours.max() > 4 * hours.min()
    weekdays = np.bincount(((columns["timestamp"] - 5 * 3600) // 86_400 + 4) % 7)  # from Sunday; 1970 began on Thursday
    assert set(weekdays.argsort()[:2]) == {0, 6}
    assert set(np.unique(columns["site"])) == set(range(535))
    assert len(np.unique(columns["device"])) == 7_000
    assert (columns["device"] >> 40 == 2).all()  # 48 bits, locally administered
    assert 0.01 < frequencies(columns["site"])[0] / 2e6 < 0.15
    slope = np.polyfit(np.log(np.arange(1, 1001)), np.log(frequencies(columns["device"])[:1000]), 1)[0]
    assert slope == pytest.approx(-0.9, abs=0.05)


def test_devices_roam_but_are_at_one_site_at_a_time():
    columns = whole(SnmpLog(2_000_000, days=2, devices=50))
    stays = 2 * 48 + 1
    for device in np.unique(columns["device"])[:20]:
        mine = columns["device"] == device
        sites, times = columns["site"][mine], columns["timestamp"][mine]
        order = np.lexsort((sites, times))
        same_second = np.diff(times[order]) == 0
        assert (np.diff(sites[order])[same_second] == 0).all()
        assert 5 < len(np.unique(sites)) < stays
        assert frequencies(sites)[0] > 0.35 * mine.sum()
        moves = times[1:][np.diff(sites) != 0]
        assert (np.diff(moves) > 0).all()
        assert len(moves) <= stays


@pytest.mark.parametrize(
    "make",
    [
        lambda: WorldCupLog(0),
        lambda: WorldCupLog(1e6),
        lambda: WorldCupLog(1, seed=-1),
        lambda: WorldCupLog(1, day=4),
        lambda: WorldCupLog(1, day=92, days=2),
        lambda: WorldCupLog(1, objects=0),
        lambda: WorldCupLog(1, exponent=-1),
        lambda: WorldCupLog(1, clients=2**33),
        lambda: SnmpLog(1, sites=0),
        lambda: SnmpLog(1, device_exponent=float("nan")),
        lambda: SnmpLog(1, devices=2**41),
        lambda: Zipf(0, 1),
    ],
)
def test_settings_out_of_range_are_refused(make):
    with pytest.raises(ConfigError, match="expected"):
        make()


@pytest.mark.parametrize("kind", LOGS)
@pytest.mark.parametrize("index", [-1, 1])
def test_slices_that_are_not_there_are_refused(kind, index):
    for ask in (kind(10).slice, kind(10).slice_span, kind(10).slice_events):
        with pytest.raises(InputError, match=rf"slice: got {index}, expected 0 to 0"):
            ask(index)


@given(st.integers(1, 3000), st.floats(0, 4), st.floats(0, 200))
def test_zipf_ranks_are_those_of_the_cumulated_shares(size, exponent, shift):
    law = Zipf(size, exponent, shift)
    weights = (np.arange(1, size + 1) + shift) ** -exponent
    np.testing.assert_allclose(law.shares, weights / weights.sum(), rtol=1e-6, atol=1e-15)
    uniforms = np.append(np.random.default_rng(size).random(2000), [0.0, 1 - 2**-53])
    ranks = law.ranks(uniforms)
    upper = np.cumsum(law.shares)
    assert (uniforms <= upper[ranks] + 1e-9).all()
    assert (uniforms >= upper[ranks] - law.shares[ranks] - 1e-9).all()
    assert ranks.min() >= 0
    assert ranks.max() < size


def test_zipf_counts_are_within_chance():
    """Chi-squared over 1,000 ranks: within five of its standard deviations."""
    law, draws = Zipf(1000, 1.2), 5_000_000
    counts = np.bincount(law.ranks(np.random.default_rng(1).random(draws)), minlength=1000)
    expected = law.shares * draws
    assert abs(((counts - expected) ** 2 / expected).sum() - 999) < 5 * np.sqrt(2 * 999)


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=50).filter(lambda weights: sum(weights) > 1))
def test_tickets_follow_their_weights(weights):
    tickets = make_tickets(np.arange(len(weights)), weights)
    assert len(tickets) == 65_536
    counts = np.bincount(tickets, minlength=len(weights))
    assert (np.abs(counts - np.array(weights) / sum(weights) * 65_536) <= 1 + 1e-6).all()


def test_facts_are_what_the_data_say(shared_data, tmp_path):
    derive(shared_data / "wc98", tmp_path)
    tables = sorted(tmp_path.glob("*.csv"))
    assert len(tables) == 4
    for table in tables:
        assert Path(facts.__file__).with_name(table.name).read_text() == table.read_text()
    assert facts.server_requests().sum() == 1_352_804_107
    assert facts.server_requests().shape == (88, 33)
    assert facts.file_requests()[1].shape == (245, 33)
