"""What the repository keeps: docs/results.md is made from tables beside it, and fresh runs are compared with them."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from matplotlib.figure import Figure
from small_runs import small
from typer.testing import CliRunner

import ecmsketch
from ecmsketch.cli.reproduce import reproduce
from ecmsketch.errors import InputError
from ecmsketch.experiments import manifest
from ecmsketch.experiments.report.compare import compare_results, is_compared
from ecmsketch.experiments.report.kept import keep_results, problems_of_docs, renew_docs_page
from ecmsketch.experiments.results import read_results
from ecmsketch.experiments.runner import run_all
from ecmsketch.experiments.source_hash import hash_folder

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def made(tmp_path_factory, tiny):
    folder = tmp_path_factory.mktemp("made")
    run_all([small("heaviest"), small("estimators")], [replace(tiny, real=False)], folder)
    return folder


@pytest.fixture
def docs(tmp_path, made):
    keep_results(made, tmp_path / "docs" / "results")
    renew_docs_page(tmp_path / "docs" / "results", tmp_path / "docs")
    return tmp_path / "docs"


def test_the_page_and_figures_of_the_repository_are_what_its_tables_give(monkeypatch):
    """Figures are not drawn: their names count, and drawing would take most of the time."""
    monkeypatch.setattr(Figure, "savefig", lambda figure, path, **settings: Path(path).touch())
    assert problems_of_docs(DOCS) == []


def test_a_page_that_was_just_written_has_no_problems(docs):
    assert problems_of_docs(docs) == []
    names = sorted(path.name for path in (docs / "results" / "tiny").iterdir())
    assert names == ["estimators.csv", "estimators.manifest.json", "heaviest.csv", "heaviest.manifest.json"]


def test_another_number_in_a_table_is_noticed(docs):
    table = docs / "results" / "tiny" / "estimators.csv"
    number = str(read_results(docs / "results")[0].rows[0]["avg_relative"])
    table.write_text(table.read_text().replace(number, "0.77", 1))
    assert problems_of_docs(docs) == [
        "results/tiny/estimators.csv is not the table that its manifest was written for",
        "results.md is not what its tables give; run make results",
    ]
    with pytest.raises(InputError, match="is not the table"):
        keep_results(docs / "results", docs / "other")


def test_another_text_and_other_figures_are_noticed(docs):
    page = docs / "results.md"
    page.write_text(page.read_text() + "one more word\n")
    (picture,) = (docs / "pictures" / "results").iterdir()
    picture.rename(picture.with_stem("figure9-tiny"))
    assert problems_of_docs(docs) == [
        "results.md is not what its tables give; run make results",
        f"the figure {picture.name} is missing; run make results",
        f"the figure figure9-tiny{picture.suffix} is of no result; run make results",
    ]
    renew_docs_page(docs / "results", docs)
    assert problems_of_docs(docs) == []


def test_a_table_without_its_manifest_is_noticed(docs):
    (docs / "results" / "small" / "tiny").mkdir(parents=True)
    shutil.copy(docs / "results" / "tiny" / "heaviest.csv", docs / "results" / "small" / "tiny")
    assert problems_of_docs(docs) == ["small/tiny/heaviest.csv has no manifest"]


def changed(results, **change):
    """The same results, with one row of the first changed."""
    first, *others = results
    return [replace(first, rows=[first.rows[0] | change, *first.rows[1:]]), *others]


def test_an_equal_run_differs_in_nothing(made, tiny, tmp_path):
    run_all([small("heaviest"), small("estimators")], [replace(tiny, real=False)], tmp_path)
    assert compare_results(read_results(tmp_path), read_results(made)) == []


def test_a_number_that_differs_is_named(made):
    kept = read_results(made)
    was = kept[0].rows[0]["avg_relative"]
    assert compare_results(changed(kept, avg_relative=was * (1 + 1e-11)), kept) == []
    (found,) = compare_results(changed(kept, avg_relative=was * (1 + 1e-7)), kept)
    assert (found.experiment, found.data, found.column, found.kept) == ("estimators", "tiny", "avg_relative", was)
    assert "counter" in found.row


def test_what_is_missing_or_of_another_size_is_named(made):
    kept = read_results(made)
    (missing,) = compare_results(kept[1:], kept)
    assert (missing.experiment, missing.fresh) == ("estimators", "not run")
    (fewer,) = compare_results([replace(kept[0], rows=kept[0].rows[1:]), kept[1]], kept)
    assert fewer.kept != fewer.fresh
    other = json.loads(json.dumps(kept[0].manifest))
    other["key"]["events"] = 17
    (size,) = compare_results([replace(kept[0], manifest=other), kept[1]], kept)
    assert (size.column, size.fresh) == ("events", 17)


def test_real_data_that_is_not_on_this_machine_is_no_difference(tmp_path, tiny, made):
    run_all([small("heaviest")], [replace(tiny, name="elsewhere")], tmp_path)
    assert compare_results(read_results(made), read_results(tmp_path)) == []


@pytest.mark.parametrize(
    "column", ["seconds", "updates_per_s", "times_the_paper", "median_us", "ask_s", "ns_per_event"]
)
def test_speeds_are_not_compared(column):
    assert not is_compared("table3", column)


def test_what_was_fed_for_some_seconds_is_not_compared():
    assert not is_compared("batch_sizes", "events")
    assert not is_compared("batch_sizes", "memory_bytes")
    assert is_compared("monitoring", "events")


@pytest.mark.parametrize("column", ["avg_error", "memory_bytes", "network_bytes", "range_s", "seed", "missed"])
def test_errors_and_bytes_are_compared(column):
    assert is_compared("table4", column)


def command(*arguments):
    app = typer.Typer()
    app.command()(reproduce)
    return CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)


def test_the_command_fails_if_a_number_differs(made, tmp_path):
    arguments = ("--only-report", "--out", made, "--docs", tmp_path, "--compare", tmp_path / "kept")
    keep_results(made, tmp_path / "kept")
    done = command(*arguments)
    assert done.exit_code == 0
    assert "0 numbers of 2 kept results differ" in done.stderr
    table = tmp_path / "kept" / "tiny" / "heaviest.csv"
    table.write_text(table.read_text().replace("0,0.1,10,", "0,0.1,11,", 1))
    done = command(*arguments)
    assert done.exit_code == 1
    assert "differs: heaviest on tiny" in done.stderr
    assert "range_s was 11, is 10" in done.stderr
    assert (tmp_path / "results.md").exists()
    assert not (made / "report.md").exists()


def test_the_command_says_costs_keeps_results_and_knows_scales(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    some = ("estimators", "--data", "snmp", "--events", 2000, "--scale", "small", "--no-spark")
    done = command(*some, "--out", tmp_path / "out", "--keep", tmp_path / "kept")
    assert done.exit_code == 0
    assert "scale small" in done.stderr
    assert "1 run, time unknown" in done.stderr
    keep_results(tmp_path / "out", tmp_path / "docs" / "results" / "small")  # where a clone has its kept run
    assert "1 run, about 1 minute, up to" in command(*some, "--out", tmp_path / "anew").stderr
    (result,) = read_results(tmp_path / "kept")
    assert (result.manifest["key"]["scale"], result.manifest["key"]["events"]) == ("small", 2000)


def run_states(stream, folder):
    return [part.state for part in run_all([small("heaviest")], [stream], folder)]


def test_a_changed_compiled_module_is_never_answered_from_old_results(tmp_path, tiny, monkeypatch):
    """As it is for a user: the sources of the package are hashed after one line of one compiled module has changed."""
    package = tmp_path / "ecmsketch"
    shutil.copytree(Path(ecmsketch.__file__).parent, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    compiled = [path for path in package.rglob("*.py") if "\nimport cython\n" in path.read_text()]
    assert len(compiled) > 10
    monkeypatch.setattr(manifest, "source_hash", lambda: hash_folder(package))
    assert run_states(tiny, tmp_path / "out") == ["run"]
    assert run_states(tiny, tmp_path / "out") == ["there already"]
    compiled[0].write_text(compiled[0].read_text() + "# changed\n")
    assert run_states(tiny, tmp_path / "out") == ["run"]
    seen = set()
    for path in compiled[:5]:
        path.write_text(path.read_text() + "# changed\n")
        seen.add(hash_folder(package))
    assert len(seen) == 5
