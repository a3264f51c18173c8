"""Scales, seeds, and what a run costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ecmsketch.errors import ConfigError, EcmError
from ecmsketch.experiments.data.named_streams import open_event_stream
from ecmsketch.experiments.data.site_files import write_sites
from ecmsketch.experiments.registry import EXPERIMENTS
from ecmsketch.experiments.results import read_results
from ecmsketch.experiments.runner import SEEDS, missing_runs, run_all, run_plan
from ecmsketch.experiments.scales import SITE_BYTES, events_at, expected_costs, plan_runs
from ecmsketch.experiments.spec import SCALES, Experiment

calls = []


def measure(spec, context):
    calls.append((context.seed, context.scale, spec.parameters["size"]))
    return [{"size": spec.parameters["size"], "text": "2.10", "value": context.seed / 3}]


SPEC = Experiment(
    name="made up",
    title="Made up",
    paper="nothing",
    parameters={"size": 10},
    columns=("size", "text", "value"),
    run=measure,
    seeds=3,
    scales={"small": {"size": 2, "seeds": 2}, "paper": {"size": 99}},
)


@pytest.fixture(autouse=True)
def _no_calls():
    calls.clear()


def test_every_seed_is_run_and_stands_in_front_of_its_rows(tmp_path, tiny):
    run_all([SPEC], [tiny], tmp_path, seed=7)
    (result,) = read_results(tmp_path)
    assert [row["seed"] for row in result.rows] == [7, 8, 9]
    assert next(iter(result.rows[0])) == "seed"
    assert [row["value"] for row in result.rows] == [7 / 3, 8 / 3, 9 / 3]
    assert (tmp_path / "tiny" / "made up.csv").read_text().count(",2.10,") == 3
    assert not (tmp_path / SEEDS).exists()


@pytest.mark.parametrize(("scale", "size", "seeds"), [("small", 2, 2), ("default", 10, 3), ("paper", 99, 3)])
def test_a_scale_changes_parameters_and_seeds_and_the_key_says_so(tmp_path, tiny, scale, size, seeds):
    run_all([SPEC], [tiny], tmp_path, scale=scale)
    assert calls == [(seed, scale, size) for seed in range(seeds)]
    (result,) = read_results(tmp_path)
    key = result.manifest["key"]
    assert (key["scale"], key["parameters"], key["seeds"]) == (scale, {"size": size}, seeds)


def test_scales_that_make_no_sense_are_refused():
    with pytest.raises(ConfigError, match="got 'huge', expected one of small, default, paper"):
        SPEC.at("huge")
    with pytest.raises(ConfigError, match="made up has no parameter 'sise'"):
        replace(SPEC, scales={"small": {"sise": 1}}).at("small")


@pytest.mark.parametrize("scale", SCALES)
def test_every_experiment_can_be_had_at_every_scale(scale):
    for spec in EXPERIMENTS.values():
        assert spec.at(scale).parameters.keys() == spec.parameters.keys()


def test_a_run_that_broke_off_goes_on_with_the_next_seed(tmp_path, tiny):
    def fail_at_2(spec, context):
        if context.seed == 2:
            raise EcmError("broken off")
        return measure(spec, context)

    with pytest.raises(EcmError, match="broken off"):
        run_all([replace(SPEC, run=fail_at_2)], [tiny], tmp_path)
    assert [seed for seed, *_ in calls] == [0, 1]
    with pytest.raises(EcmError, match="no results"):
        read_results(tmp_path)
    run_all([SPEC], [tiny], tmp_path)
    assert [seed for seed, *_ in calls] == [0, 1, 2]
    (result,) = read_results(tmp_path)
    assert [row["value"] for row in result.rows] == [0.0, 1 / 3, 2 / 3]
    run_all([SPEC], [tiny], tmp_path, again=True)
    assert [seed for seed, *_ in calls] == [0, 1, 2, 0, 1, 2]


def test_the_papers_own_numbers_of_events_are_used_where_one_pass_is_enough():
    assert events_at("paper", "figure4", "worldcup98-generated") == 1_090_000_000
    assert events_at("paper", "table3", "snmp") == 134_000_000
    assert events_at("paper", "table4", "snmp") == 20_000_000
    assert events_at("default", "figure4", "worldcup98-generated") == 5_000_000
    assert events_at("small", "figure4", "snmp") < 1_000_000


def test_a_plan_opens_each_stream_once_and_events_that_are_given_win(tiny):
    opened = []

    def opening(name, events):
        opened.append((name, events))
        return tiny

    specs = [replace(SPEC, name=name) for name in ("figure4", "table3", "table4", "other")]
    own = replace(SPEC, name="own", own_stream=tiny)
    assert len(plan_runs([*specs, own], ["snmp"], opening, "paper")) == 5
    assert opened == [("snmp", 134_000_000), ("snmp", 20_000_000), ("snmp", 5_000_000)]
    opened.clear()
    plan_runs(specs, ["snmp", "flights"], opening, "paper", 1234)
    assert opened == [("snmp", 1234), ("flights", 1234)]


def test_costs_are_those_of_runs_before_in_proportion(tmp_path, tiny):
    plan = [(SPEC.at("default"), tiny), (replace(SPEC, name="never run"), tiny)]
    assert str(expected_costs(plan, [])).startswith("2 runs, time unknown, up to 0.01 GB")
    run_plan(plan[:1], tmp_path)
    (known,) = read_results(tmp_path)
    known.manifest["seconds"] = 60.0
    larger = [(replace(SPEC, seeds=6), replace(tiny, events=tiny.events * 10)), plan[1]]
    costs = expected_costs(larger, [known])
    assert costs.seconds == pytest.approx(60 * 10 * 2)
    assert str(costs).startswith("2 runs, about 20 minutes without 1 that were never timed")
    left = missing_runs(plan, tmp_path, session=None, seed=0, scale="default")
    assert [spec.name for spec, _ in left] == ["never run"]
    assert str(expected_costs([], [])) == "nothing is left to run"


def test_the_files_of_sites_take_no_more_than_is_said(tmp_path):
    for name in ("worldcup98-generated", "snmp"):
        stream = open_event_stream(name, 200_000)
        files = write_sites(stream, tmp_path / name)
        assert sum(path.stat().st_size for path in files) < SITE_BYTES * stream.events


def test_progress_says_how_many_runs_there_are(tmp_path, tiny):
    said = []
    run_all([SPEC, replace(SPEC, name="other")], [tiny], tmp_path, say=said.append)
    assert said[0].startswith("1 of 2, made up on tiny")
    assert said[-1].startswith("2 of 2, other on tiny")
