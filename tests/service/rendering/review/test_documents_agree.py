"""Page, workbook and JSON of one review have the same figures, to the cent."""

import json
import re
from decimal import Decimal
from html.parser import HTMLParser

import pytest

from perfledger_service.rendering.review.html import review_html
from perfledger_service.rendering.review.json_file import review_json


class Tables(HTMLParser):
    """The tables of a review's page by what is headed above them: rows of texts."""

    def __init__(self, page):
        super().__init__()
        self.tables, self.heading, self.inside = {}, "", ""
        self.feed(page)

    def handle_starttag(self, tag, _attributes):
        if tag in {"h2", "h3"}:
            self.heading = ""
        if tag == "tr":
            self.tables.setdefault(self.heading, []).append([])
        if tag in {"td", "th"}:
            self.tables[self.heading][-1].append("")
        if tag in {"h2", "h3", "td", "th"}:
            self.inside = tag
        if tag in {"small", "br", "sup"} and self.inside == "td":
            self.tables[self.heading][-1][-1] += "|"

    def handle_endtag(self, tag):
        if tag == self.inside:
            self.inside = ""

    def handle_data(self, data):
        if self.inside in {"h2", "h3"}:
            self.heading += data
        elif self.inside:
            self.tables[self.heading][-1][-1] += data


def cents(value):
    """Return an amount as it is written anywhere, to the cent; None for a cell without one."""
    if not isinstance(value, str):
        return None if value is None else round(float(value), 2) + 0.0
    match = re.match(r"-?[0-9][0-9,]*(\.[0-9]+)?", value.strip())
    return None if match is None else round(float(Decimal(match[0].replace(",", ""))), 2) + 0.0


def is_same(shown_cell, exact):
    """Return whether a page or a workbook shows an amount: to the cent, forecasts to the dollar.

    The sum of a forecast is that of its whole dollars, one for each of four payments.
    """
    if shown_cell is None or exact is None:
        return shown_cell == exact
    is_forecast = abs(Decimal(exact)) >= 1000 and cents(shown_cell) == round(cents(shown_cell))
    return abs(cents(shown_cell) - cents(exact)) <= (2 if is_forecast else 0)


@pytest.fixture(scope="module")
def documents(recomputed, example):
    """The page's tables, LibreOffice's workbook and the JSON, of one review."""
    page = review_html(example)
    return Tables(page).tables, recomputed(), json.loads(review_json(example)), page


def options_compared(tables, book, document):
    """Return (page, workbook, JSON) of what each option costs."""
    paid = {row[0]: row[1:7] for row in tables["Payments at the most likely inputs, whole USD"]}
    written = {row[0]: row for row in book["Options"].iter_rows(2, values_only=True)}
    for one in document["options"]:
        shown_cells, cells = paid[one["name"]], written[one["name"]]
        amounts = [*one["paid_usd"], one["paid_sum_usd"], one["npv_usd"]]
        for place, amount in enumerate(amounts):
            yield shown_cells[place], cells[3 + place], str(amount)
        for place, name in enumerate(("p5", "p50", "p95")):
            yield None, cells[10 + place], one["npv_band_usd"][name]
        if one["usd_per_hour"] is not None:
            yield None, cells[9], one["usd_per_hour"]


def model_compared(tables, book, document):
    """Return (page, workbook, JSON) of inputs and lines that are money."""
    inputs = {row[2]: row for row in tables["Inputs"]}
    cells = {row[2]: row for row in book["Inputs"].iter_rows(2, values_only=True)}
    for one in (each for each in document["inputs"] if each["unit"].startswith("USD")):
        for place, end in enumerate(("low", "mode", "high"), start=3):
            yield inputs[one["name"]][place], cells[one["name"]][place], one[end]
    lines = {row[0]: row[3] for row in tables["Formulas"]}
    values = {row[0]: row[3] for row in book["Model"].iter_rows(2, values_only=True)}
    for one in (each for each in document["formulas"] if each["unit"] == "USD"):
        yield lines[one["name"]], values[one["name"]], one["value"]


def forecast_compared(tables, book, document):
    """Return (page, workbook, JSON) of the money that the next months cost."""
    (found_row,) = (
        one for one in document["demand"]["forecast"]["forecasts"] if one["quantity"] == "usd"
    )
    forecast_rows = tables["Forecast of the next months"]
    forecast_rows = forecast_rows[[row[0] for row in forecast_rows].index("USD") + 1 :]
    cells = [row for row in book["Forecast"].iter_rows(2, values_only=True) if row[0] == "USD"]
    expected = [*found_row["periods"], found_row["total"]]
    for page, row, one in zip(forecast_rows, cells, expected, strict=True):
        for at, column, name in ((1, 2, "p10"), (2, 4, "p50"), (3, 6, "p90")):
            yield page[at], row[column], str(one[name])
        yield page[4], row[7], str(Decimal(one["p90"]) - Decimal(one["p50"]))


def allocation_compared(tables, book, document):
    """Return (page, workbook, JSON) of who pays what."""
    by_project = tables["By project"][1:-1]
    cells = list(book["Allocation"].iter_rows(2, values_only=True))
    parts = ("direct_usd", "idle_usd", "overhead_usd")
    for page, row, one in zip(by_project, cells, document["allocation"]["rows"], strict=False):
        amounts = [Decimal(one[part]) for part in parts]
        for at, amount in enumerate((*amounts, sum(amounts)), start=3):
            yield page[at], row[at], str(amount)
    assert len(by_project) == len(document["allocation"]["rows"])


def projected_compared(book, document):
    """Return (workbook, JSON) of what a million units are projected to cost."""
    projection = document["performance"]["projection"]
    expected = [
        (cost["usd"], cost["low"], cost["high"]) for one in projection for cost in one["costs"]
    ]
    rows = [row for row in book["Projected"].iter_rows(2, values_only=True) if row[10] is not None]
    assert len(rows) == len(expected) > 0
    for row, amounts in zip(rows, expected, strict=True):
        assert row[4] == "projected"
        yield from ((None, *each) for each in zip(row[10:13], amounts, strict=True))


@pytest.mark.slow(ci_only=True)
def test_every_amount_that_page_workbook_and_json_share_is_the_same(documents, example):
    tables, book, document, page = documents
    comparisons = [
        *options_compared(tables, book, document),
        *model_compared(tables, book, document),
        *forecast_compared(tables, book, document),
        *allocation_compared(tables, book, document),
        *projected_compared(book, document),
    ]
    budget = f"{Decimal(document['expected_quarter']['usd']):,.0f} USD"
    decision = {row[0]: row[1] for row in book["Decision"].iter_rows(values_only=True)}

    differing = [
        each
        for each in comparisons
        if not is_same(each[1], each[2]) or (each[0] and not is_same(each[0], each[2]))
    ]
    assert differing == []
    assert len(comparisons) > 200
    assert budget in page
    assert budget in decision[f"Budget for {document['expected_quarter']['quarter']}"]
    name = example.choice.option.name
    saving = decision[f"saving of {name} over today's option, USD"]
    assert cents(saving) == cents(str(example.status_quo.npv - example.choice.npv))
    assert f"{example.choice.npv:,.0f}" in page
    assert f"{example.choice.npv:,.0f}" in " ".join(map(str, decision.values()))


@pytest.mark.slow(ci_only=True)
def test_the_page_and_json_have_the_same_figures_of_the_bill(documents):
    tables, _, document, _ = documents
    numbers = [
        [cents(cell) for cell in row[2:3]] for row in tables["Hours according to the bill"][1:]
    ]
    expected = [[cents(usd)] for _, _, usd in document["supply"]["by_mode"]]

    assert numbers == [*expected, [cents(document["supply"]["unused_usd"])]]
    costs = [
        cents(row[3]) for row in [row for row in tables["3 Demand and supply"] if len(row) == 7][1:]
    ]
    assert costs == [cents(one["usd_per_year"]) for one in document["supply"]["entries"]]
