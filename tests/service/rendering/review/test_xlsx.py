"""The review's workbook: names, formulas, and LibreOffice coming to the same cents."""

import io
from dataclasses import replace

import numpy as np
import openpyxl
import pytest

from perfledger_cost_models.procurement.decision import evaluate
from perfledger_cost_models.review.document import UnknownFigure
from perfledger_service.rendering.review.xlsx import review_xlsx

CHANGED = {
    "commitment_utilization": 0.55,
    "w1_usd_per_hour": 5.5,
    "wacc": 0.11,
    "hours_a_year": 400_000.0,
}


def model_values(example, changed):
    modes = {each.name: np.array([float(each.mode)]) for each in example.model.inputs}
    values = evaluate(
        example.model, modes | {name: np.array([value]) for name, value in changed.items()}
    )
    return {name: float(numbers[0]) for name, numbers in values.items()}


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize(
    "changed",
    [  # the figures as written are also those of `test_documents_agree`
        pytest.param({}, id="as written"),
        pytest.param(CHANGED, id="other inputs"),
    ],
)
def test_libreoffice_comes_to_the_same_cents(recomputed, example, changed):
    book = recomputed(**changed)

    values = model_values(example, changed)
    lines = {row[0]: row[3] for row in book["Model"].iter_rows(min_row=2, values_only=True)}
    assert set(lines) == {line.name for line in example.model.lines}
    differing = {
        name: (numbers, values[name])
        for name, numbers in lines.items()
        if round(numbers, 2) != round(values[name], 2)
    }
    assert differing == {}
    options = {option.name: option for option in example.model.options}
    for row in book["Options"].iter_rows(min_row=2, values_only=True):
        assert round(row[8], 2) == round(values[options[row[0]].npv], 2)
        assert round(row[7], 2) == round(sum(row[3:7]), 2)


@pytest.mark.slow
def test_the_workbook_holds_the_reviews_values_for_readers_that_do_not_compute(content, example):
    book = openpyxl.load_workbook(io.BytesIO(content), data_only=True)

    npv = {row[0]: row[8] for row in book["Options"].iter_rows(min_row=2, values_only=True)}
    assert npv == {one.option.name: float(one.npv) for one in example.decision.outcomes}


@pytest.mark.slow
def test_every_input_and_line_has_a_name_and_every_figure_is_a_formula(content, example):
    book = openpyxl.load_workbook(io.BytesIO(content))

    names = {each.name for each in (*example.model.inputs, *example.model.lines)}
    assert set(book.defined_names) == names
    values = [row[3].value for row in book["Model"].iter_rows(min_row=2)]
    assert all(str(value).startswith("=") for value in values)


@pytest.mark.slow
def test_each_price_links_to_its_source_or_says_that_it_has_no_address(content, example):
    sheet = openpyxl.load_workbook(io.BytesIO(content))["Inputs"]
    cells = {row[2].value: row[10] for row in sheet.iter_rows(min_row=2)}

    for each in example.model.inputs:
        cell = cells[each.name]
        if each.source_url:
            assert (cell.hyperlink.target, cell.value) == (each.source_url, each.source_url)
        else:
            expected = "no address" if each.unit.startswith("USD") else None
            assert (cell.hyperlink, cell.value) == (None, expected)
    assert any(cell.hyperlink for cell in cells.values())


@pytest.mark.slow
def test_a_chance_is_a_number_that_is_shown_as_on_the_page(content, example):
    sheet = openpyxl.load_workbook(io.BytesIO(content))["Options"]
    chances = {row[0].value: (row[13], row[14]) for row in sheet.iter_rows(min_row=2)}

    for one in example.decision.outcomes:
        best, cheaper = chances[one.option.name]
        assert (best.value, cheaper.value) == (one.chance_best, one.chance_cheaper)
        assert best.number_format == cheaper.number_format
        assert best.number_format == '[>0.995]"> 99 %";[<0.005]"< 1 %";0\\ %'


@pytest.mark.slow
def test_the_allocations_columns_are_summed_live(content, example):
    book = openpyxl.load_workbook(io.BytesIO(content))

    rows = {row[0]: row[1:] for row in book["Allocation"].iter_rows(values_only=True)}
    count = len(example.allocation.rows)
    sums = [f"=SUM({letter}2:{letter}{count + 1})" for letter in "CDEFG"]
    assert rows["the bill"] == (None, *sums)
    assert any("have no known owner and are a row of their own" in str(first) for first in rows)


@pytest.mark.slow
def test_supply_and_waits_are_sheets_of_their_own(content, example):
    book = openpyxl.load_workbook(io.BytesIO(content), data_only=True)

    supply = list(book["Supply"].iter_rows(values_only=True))
    waits = {row[0]: row[1:] for row in book["Waits"].iter_rows(values_only=True)}
    overall = example.supply.waits.overall
    easy = next(row for row in example.supply.policies.rows if row.figures.policy == "easy")
    assert [row[3] for row in supply[1:4]] == [float(row[3]) for row in example.supply.coverage]
    assert {"Savings plan of 2024", "Lab servers", "unused commitments"} <= {
        row[0] for row in supply
    }
    assert waits["all jobs"][0] == overall.jobs
    assert waits["all jobs"][1] == pytest.approx(overall.wait_mean_s / 3600)
    assert waits["easy"][1] == pytest.approx(easy.figures.wait_mean_s / 3600)
    assert any("was not met" in str(first) for first in waits)


@pytest.mark.slow
def test_a_missing_capacity_says_how_to_supply_it(example):
    unknown = UnknownFigure(
        name="queue waits", reason="no log was given", remedy="add jobs to [usage]"
    )
    supply = replace(
        example.supply,
        by_mode=unknown,
        unused_usd=unknown,
        waits=unknown,
        policies=unknown,
        entries=(),
    )

    book = openpyxl.load_workbook(io.BytesIO(review_xlsx(replace(example, supply=supply))))

    for name in ("Supply", "Waits"):
        texts = [str(row[0]) for row in book[name].iter_rows(values_only=True)]
        assert any("Remedy: add jobs to [usage]" in text for text in texts)


@pytest.mark.slow
def test_the_same_review_gives_the_same_bytes(content, example):
    assert review_xlsx(example) == content
