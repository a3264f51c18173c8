"""Experiments run, leave a CSV and a manifest each, and are not run twice."""

from __future__ import annotations

import csv
import json
import platform
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from small_runs import EVENTS, OWN_STREAM, SMALL, folder_of, small

import ecmsketch
from ecmsketch.errors import EcmError, InputError
from ecmsketch.experiments import manifest, results
from ecmsketch.experiments.data.synthetic import SYNTHETIC
from ecmsketch.experiments.registry import EXPERIMENTS, SELECTIONS, select_experiments
from ecmsketch.experiments.runner import run_all
from ecmsketch.experiments.source_hash import hash_folder, source_hash
from ecmsketch.experiments.spec import Context


def states(specs, stream, folder, **options):
    return [part.state for part in run_all(specs, [stream], folder, **options)]


@pytest.mark.parametrize("name", SMALL)
def test_every_experiment_leaves_a_csv_with_its_columns(out, name):
    with open(out / folder_of(name) / f"{name}.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert tuple(rows[0]) == ("seed", *EXPERIMENTS[name].columns)


@pytest.mark.parametrize("name", SMALL)
def test_a_manifest_says_what_was_run_on_what_and_where_but_not_on_whose_machine(out, name):
    text = (out / folder_of(name) / f"{name}.manifest.json").read_text()
    manifest = json.loads(text)
    assert manifest["data"]["label"] == "GENERATED"
    assert manifest["data"]["events"] == (SYNTHETIC.events if name in OWN_STREAM else EVENTS)
    assert manifest["seed"] == 0
    assert manifest["machine"]["cores"] >= 1
    assert manifest["versions"]["numpy"]
    assert platform.node() not in text
    assert str(out.parent) not in text


def test_real_data_is_called_real(tmp_path, tiny):
    run_all([small("heaviest")], [tiny], tmp_path)
    (result,) = results.read_results(tmp_path)
    assert result.label == result.manifest["data"]["label"] == "real"


def test_what_has_been_run_is_not_run_again(tmp_path, tiny):
    spec = small("heaviest")
    assert states([spec], tiny, tmp_path) == ["run"]
    assert states([spec], tiny, tmp_path) == ["there already"]
    assert states([spec], tiny, tmp_path, again=True) == ["run"]
    assert states([spec], tiny, tmp_path, seed=1) == ["run"]
    other = replace(spec, parameters={**spec.parameters, "heaviest": 3})
    assert states([other], tiny, tmp_path, seed=1) == ["run"]


def test_changed_sources_are_run_again(tmp_path, tiny, monkeypatch):
    spec = small("heaviest")
    assert states([spec], tiny, tmp_path) == ["run"]
    monkeypatch.setattr(manifest, "source_hash", lambda: "of other sources")
    assert states([spec], tiny, tmp_path) == ["run"]
    assert states([spec], tiny, tmp_path) == ["there already"]


def test_the_hash_of_sources_covers_what_makes_results_and_nothing_else(tmp_path):
    package = tmp_path / "package"
    shutil.copytree(Path(ecmsketch.__file__).parent, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    before = hash_folder(package)
    assert before == source_hash()
    for name in ("cli/reproduce.py", "experiments/report/claims.py", "generate/facts/README.md"):
        (package / name).write_text("changed")
        assert hash_folder(package) == before, name
    seen = {before}
    for name in (
        "config.py", "engines/cells/buckets.py", "kernels/memory.pyx", "kernels/memory.pxd", "monitor/site.py",
        "spark/merging.py", "generate/facts/types.csv",
    ):  # fmt: skip
        (package / name).write_text("changed")
        seen.add(hash_folder(package))
    (package / "config.py").rename(package / "renamed.py")
    seen.add(hash_folder(package))
    assert len(seen) == 9


def test_a_csv_that_was_changed_or_a_run_that_broke_off_counts_for_nothing(tmp_path, tiny):
    spec = small("heaviest")
    run_all([spec], [tiny], tmp_path)
    table = tmp_path / "tiny" / "heaviest.csv"
    table.write_text(table.read_text().replace("0.1,", "0.2,", 1))
    assert states([spec], tiny, tmp_path) == ["run"]
    (tmp_path / "tiny" / "heaviest.manifest.json").unlink()
    assert states([spec], tiny, tmp_path) == ["run"]


def test_a_failing_experiment_leaves_those_before_it(tmp_path, tiny):
    def fail(spec, context):
        raise EcmError("broken off")

    with pytest.raises(EcmError, match="broken off"):
        run_all([small("heaviest"), replace(small("levels"), run=fail)], [tiny], tmp_path)
    assert states([small("heaviest")], tiny, tmp_path) == ["there already"]


def test_streams_without_sites_are_left_out_where_sites_are_needed(tmp_path, tiny):
    assert states([small("table4")], replace(tiny, sites=1), tmp_path) == ["does not fit"]


def test_nothing_is_left_on_disk_but_results(tmp_path, tiny, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", None)
    (tmp_path / "scratch").mkdir()
    run_all([small("union")], [tiny], tmp_path / "out")
    assert not list((tmp_path / "scratch").iterdir())
    assert sorted(path.name for path in (tmp_path / "out" / "tiny").iterdir()) == [
        "union.csv",
        "union.manifest.json",
    ]


def test_names_stand_for_experiments():
    assert [spec.name for spec in select_experiments(["figure5", "table4"])] == ["table4"]
    assert [spec.name for spec in select_experiments(["beyond"])] == [
        "equal_memory",
        "batch_sizes",
        "inner_product",
        "count_windows",
        "heavy_hitters",
        "quantiles",
        "range_sums",
        "heaviest",
        "estimators",
        "levels",
        "union",
        "monitoring",
    ]
    assert {spec.name for spec in select_experiments(["all"])} == set(EXPERIMENTS)
    assert all(select_experiments([name]) for name in SELECTIONS)
    with pytest.raises(InputError, match="figure7"):
        select_experiments(["figure7"])


def test_peers_that_are_not_installed_are_reported_and_never_made_up(tmp_path, tiny, monkeypatch):
    from ecmsketch.experiments.beyond import peers

    def missing(package):
        raise peers.PackageNotFoundError(package)

    monkeypatch.setattr(peers, "version", missing)
    shutil.rmtree(tmp_path / "tiny", ignore_errors=True)
    rows = small("peers").run(small("peers"), Context(tiny, tmp_path))
    assert {row["state"] for row in rows} == {"not installed"}
    assert {row["avg_error"] for row in rows} == {""}
