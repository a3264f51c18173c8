"""Figures and reports come from the CSV alone."""

from __future__ import annotations

import re
import shutil

import pytest

from ecmsketch.errors import InputError
from ecmsketch.experiments import results
from ecmsketch.experiments.report.beyond_figures import BEYOND_FIGURES
from ecmsketch.experiments.report.document import write_docs_page, write_report
from ecmsketch.experiments.report.figures import draw_figures
from ecmsketch.experiments.report.wins import what_is_better

DRAWN = {
    "table3", "figure4", "figure4-epsilon", "figure4-memory", "figure5", "figure6", "levels", "estimators",
    *BEYOND_FIGURES,
}  # fmt: skip


@pytest.fixture(scope="module")
def written(out, tmp_path_factory):
    folder = tmp_path_factory.mktemp("copy") / "results"
    shutil.copytree(out, folder)
    write_report(folder)
    return folder


def test_figures_are_drawn_from_the_csv_alone(written):
    names = (path.name for path in (written / "figures").iterdir())
    assert {re.sub("-(worldcup98-generated|synthetic).svg$", "", name) for name in names} == DRAWN
    for path in (written / "figures").iterdir():
        assert "<svg" in path.read_text()[:1000]
        assert path.stat().st_size < 150_000


def test_equal_numbers_are_equal_figures(written, tmp_path):
    for result in results.read_results(written):
        for path in draw_figures(result, tmp_path):
            assert path.read_bytes() == (written / "figures" / path.name).read_bytes()


@pytest.mark.parametrize("name", ["figure4-epsilon", "figure6"])
def test_figures_draw_what_the_paper_prints_and_every_variant_once(written, name):
    text = (written / "figures" / f"{name}-worldcup98-generated.svg").read_text()
    for label in ("printed in the paper", "ECM-EH as published", "slices (ours)", "slices at resolution 0.1 (ours)"):
        assert text.count(f">{label}<") == 1  # one legend for all panels


def test_another_number_in_the_csv_is_another_figure(written, tmp_path):
    table = tmp_path / "worldcup98-generated" / "table3.csv"
    shutil.copytree(written / table.parent.name, table.parent)
    (result,) = [result for result in results.read_results(tmp_path) if result.experiment == "table3"]
    rate = str(result.rows[0]["updates_per_s"])
    table.write_text(table.read_text().replace(rate, "1000"))
    (changed,) = [result for result in results.read_results(tmp_path) if result.experiment == "table3"]
    first = (written / "figures" / "table3-worldcup98-generated.svg").read_bytes()
    (drawn,) = draw_figures(changed, tmp_path / "figures")
    assert drawn.read_bytes() != first


def test_the_report_has_the_papers_numbers_beside_ours_and_the_label(written):
    text = (written / "report.md").read_text()
    assert "GENERATED" in text
    assert "1.49 M/s" in text  # table 3
    assert "0.012 : 0.015" in text  # table 4
    assert "±" in text
    assert "N/A" in text
    assert "watching (mode auto)" in text
    for name in re.findall(r"\]\((figures/[^)]+)\)", text):
        assert (written / name).exists()


def test_the_summary_comes_first_and_every_cross_has_its_reason(written):
    text = (written / "report.md").read_text()
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert heads[:3] == ["What is better", "What is worse", "What holds, and what does not"]
    crosses = re.findall(r"\[✗ (\d+)\]\(#why-(\d+)\)", text)
    assert crosses
    for number, anchor in crosses:
        assert number == anchor
        (reason,) = re.findall(rf'^\d+\. <a id="why-{number}"></a>.* Why: (.*)$', text, re.MULTILINE)
        assert reason


def test_what_is_better_comes_from_the_rows(written):
    (result,) = [part for part in results.read_results(written) if part.experiment == "figure4"]
    halved = [
        row | {"memory_bytes": row["memory_bytes"] / 2} if row["variant"] == "slices" else row for row in result.rows
    ]
    before, after = (
        next(line for line in what_is_better([part]) if line.startswith("| memory at epsilon 0.1, for point"))
        for part in (result, results.StoredResult(result.manifest, halved))
    )
    share, half = (float(line.split("|")[3]) for line in (before, after))
    assert half == pytest.approx(share / 2, rel=0.01)


def test_the_page_is_self_contained(written):
    page = (written / "report.html").read_text()
    assert page.count("data:image/svg+xml;base64,") == len(DRAWN)
    assert not re.search(r'src="(?!data:)', page)
    assert not re.search(r'href="(?!#|guarantees.md)', page)
    assert "<table>" in page


def test_the_document_has_its_pictures_beside_it(written, tmp_path):
    folder = tmp_path / "results" / "worldcup98-generated"
    folder.mkdir(parents=True)
    for path in (written / folder.name).glob("table3.*"):
        shutil.copy(path, folder)
    (path,) = write_docs_page(tmp_path / "results", tmp_path)
    assert "pictures/results/table3" in path.read_text()
    assert "Figure 4: observed error against memory, centralised: not run" in path.read_text()
    for name in re.findall(r"\]\((pictures/results/[^)]+)\)", path.read_text()):
        assert (tmp_path / name).exists()
    assert str(tmp_path) not in path.read_text()


def test_a_folder_without_results_says_so(tmp_path):
    with pytest.raises(InputError, match="no results"):
        results.read_results(tmp_path)
