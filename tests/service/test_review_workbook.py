"""The review's workbook: names, formulas, and LibreOffice coming to the same cents."""

import io
import subprocess
from datetime import date
from pathlib import Path

import numpy as np
import openpyxl
import pytest

from perfledger_cost_models.decision import evaluate
from perfledger_cost_models.quarter import quarter_of
from perfledger_service.pages.review_xlsx import review_xlsx
from perfledger_service.settings import price_settings
from perfledger_service.usecases.reviewing import Asked, review

EXAMPLE = Path(__file__).parents[2] / "examples" / "review"
CHANGED = {"use_share": 0.55, "w1_usd_per_hour": 5.5, "wacc": 0.11, "hours_a_year": 400_000.0}


@pytest.fixture(scope="module")
def example():
    return review(
        Asked(
            quarter=quarter_of("2026Q3"),
            today=date(2026, 11, 22),
            plan=EXAMPLE / "plan.toml",
            bundles=None,
            database_url="",
            bill=EXAMPLE / "bill.csv",
            team_tag="",
            prices=price_settings(),
            last=None,
            is_stale_allowed=False,
        )
    )


@pytest.fixture(scope="module")
def content(example):
    return review_xlsx(example)


@pytest.fixture
def recomputed(require_system, tmp_path, content):
    """Return the workbook as LibreOffice computes it with changed inputs and no kept values."""
    office = require_system("soffice", package="libreoffice-calc-nogui")

    def recomputed(changed):
        book = openpyxl.load_workbook(io.BytesIO(content))  # what is saved again has no values
        for row in book["Inputs"].iter_rows(min_row=2):
            if row[2].value in changed:
                row[4].value = changed[row[2].value]
        book.save(tmp_path / "review.xlsx")
        (tmp_path / "out").mkdir()
        subprocess.run(
            [
                str(office),
                f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}",
                "--headless",
                "--convert-to",
                "xlsx:Calc MS Excel 2007 XML",
                "--outdir",
                str(tmp_path / "out"),
                str(tmp_path / "review.xlsx"),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=300,
        )
        return openpyxl.load_workbook(tmp_path / "out" / "review.xlsx", data_only=True)

    return recomputed


def model_values(example, changed):
    modes = {each.name: np.array([float(each.mode)]) for each in example.model.inputs}
    values = evaluate(
        example.model, modes | {name: np.array([value]) for name, value in changed.items()}
    )
    return {name: float(found[0]) for name, found in values.items()}


@pytest.mark.slow
@pytest.mark.parametrize("changed", [{}, CHANGED], ids=["as written", "other inputs"])
def test_libreoffice_comes_to_the_same_cents(recomputed, example, changed):
    book = recomputed(changed)

    values = model_values(example, changed)
    lines = {row[0]: row[3] for row in book["Model"].iter_rows(min_row=2, values_only=True)}
    assert set(lines) == {line.name for line in example.model.lines}
    differing = {
        name: (found, values[name])
        for name, found in lines.items()
        if round(found, 2) != round(values[name], 2)
    }
    assert differing == {}
    ways = {way.name: way for way in example.model.ways}
    for row in book["Options"].iter_rows(min_row=2, values_only=True):
        assert round(row[8], 2) == round(values[ways[row[0]].npv], 2)
        assert round(row[7], 2) == round(sum(row[3:7]), 2)


@pytest.mark.slow
def test_the_workbook_holds_the_reviews_values_for_readers_that_do_not_compute(content, example):
    book = openpyxl.load_workbook(io.BytesIO(content), data_only=True)

    npv = {row[0]: row[8] for row in book["Options"].iter_rows(min_row=2, values_only=True)}
    assert npv == {one.way.name: float(one.npv) for one in example.decision.outcomes}


@pytest.mark.slow
def test_every_input_and_line_has_a_name_and_every_figure_is_a_formula(content, example):
    book = openpyxl.load_workbook(io.BytesIO(content))

    names = {each.name for each in (*example.model.inputs, *example.model.lines)}
    assert set(book.defined_names) == names
    values = [row[3].value for row in book["Model"].iter_rows(min_row=2)]
    assert all(str(value).startswith("=") for value in values)


@pytest.mark.slow
def test_the_allocations_columns_are_summed_live(content, example):
    book = openpyxl.load_workbook(io.BytesIO(content))

    rows = {row[0]: row[1:] for row in book["Allocation"].iter_rows(values_only=True)}
    count = len(example.allocation.rows)
    sums = [f"=SUM({letter}2:{letter}{count + 1})" for letter in "CDEFG"]
    assert rows["the bill"] == (None, *sums)
    assert any("Nothing says who used" in str(first) for first in rows)


@pytest.mark.slow
def test_the_same_review_gives_the_same_bytes(content, example):
    assert review_xlsx(example) == content
