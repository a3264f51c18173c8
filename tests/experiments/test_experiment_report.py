"""Figures and reports come from the CSV alone."""

from __future__ import annotations

import re
import shutil

import pytest

from ecmsketch.errors import InputError
from ecmsketch.experiments import results
from ecmsketch.experiments.report.beyond_figures import BEYOND_FIGURES
from ecmsketch.experiments.report.document import write_docs_page, write_report
from ecmsketch.experiments.report.figures import draw_figure

DRAWN = {"table3", "figure4", "table4", "figure6", "levels", "estimators", *BEYOND_FIGURES}


@pytest.fixture(scope="module")
def written(out, tmp_path_factory):
    folder = tmp_path_factory.mktemp("copy") / "results"
    shutil.copytree(out, folder)
    write_report(folder)
    return folder


def test_figures_are_drawn_from_the_csv_alone(written):
    drawn = {
        re.sub("-(worldcup98-generated|synthetic).png$", "", path.name) for path in (written / "figures").iterdir()
    }
    assert drawn == (DRAWN - {"table4"}) | {"figure5"}
    for path in (written / "figures").iterdir():
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size < 150_000


def test_another_number_in_the_csv_is_another_figure(written, tmp_path):
    table = tmp_path / "worldcup98-generated" / "table3.csv"
    shutil.copytree(written / table.parent.name, table.parent)
    (result,) = [result for result in results.read_results(tmp_path) if result.experiment == "table3"]
    rate = str(result.rows[0]["updates_per_s"])
    table.write_text(table.read_text().replace(rate, "1000"))
    (changed,) = [result for result in results.read_results(tmp_path) if result.experiment == "table3"]
    first = (written / "figures" / "table3-worldcup98-generated.png").read_bytes()
    assert draw_figure(changed, tmp_path / "figures").read_bytes() != first


def test_the_report_has_the_papers_numbers_beside_ours_and_the_label(written):
    text = (written / "report.md").read_text()
    assert "GENERATED" in text
    assert "1.49 M/s" in text  # table 3
    assert "0.012 : 0.015" in text  # table 4
    assert "holds" in text
    assert "watching (mode auto)" in text
    for name in re.findall(r"\]\((figures/[^)]+)\)", text):
        assert (written / name).exists()


def test_the_page_is_self_contained(written):
    page = (written / "report.html").read_text()
    assert page.count("data:image/png;base64,") == len(DRAWN)
    assert not re.search(r'(src|href)="(?!data:)', page)
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
