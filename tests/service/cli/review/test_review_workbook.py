"""The review's workbook: names, formulas, and LibreOffice coming to the same cents."""

import io
import json
import re
import subprocess
from dataclasses import replace
from datetime import date
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import openpyxl
import pytest

from perfledger.records import Device, Machine, Side, WorkloadSpec
from perfledger.step_work import (
    BYTES,
    FLOPS,
    Count,
    CountedWork,
    StepWork,
)
from perfledger_cost_models.procurement.decision import evaluate
from perfledger_cost_models.review.quarter import quarter_of
from perfledger_cost_models.review.review_document import UnknownFigure
from perfledger_runners.bundles.bundle_files import write_bundle
from perfledger_service.rendering.review.html import review_html
from perfledger_service.rendering.review.json_file import review_json
from perfledger_service.rendering.review.xlsx import review_xlsx
from perfledger_service.settings.service import price_settings
from perfledger_service.usecases.review.review import ReviewRequest, review

EXAMPLE = Path(__file__).parents[4] / "examples" / "review"
CHANGED = {"use_share": 0.55, "w1_usd_per_hour": 5.5, "wacc": 0.11, "hours_a_year": 400_000.0}


@pytest.fixture(scope="module")
def bundles(make_bundle, tmp_path_factory):
    """A folder with a bundle, made up: a step on an A100 that counts what it asks for."""
    counts = (
        Count(name=FLOPS, unit="FLOP", value=1e12, source="FlopCounterMode"),
        Count(name=BYTES, unit="B", value=4e9, source="unfused"),
    )
    work = StepWork(counts=counts)
    bundle = make_bundle(
        machine=Machine(
            device=Device.CUDA, model="NVIDIA A100-SXM4-80GB", memory_bytes=85_000_000_000
        ),
        work=tuple(CountedWork(workload="gpt:step", side=side, work=work) for side in Side),
        created_at="2026-08-20T11:00:00+00:00",
        pull_request=None,
    )
    spec = WorkloadSpec(
        id="gpt:step", module="gpt", function="step", unit="tokens", units_per_step=8.0
    )
    folder = tmp_path_factory.mktemp("bundles")
    write_bundle(replace(bundle, workloads=(spec,)), folder / "one.json")
    return folder


@pytest.fixture(scope="module")
def example(bundles):
    return review(
        ReviewRequest(
            quarter=quarter_of("2026Q3"),
            today=date(2026, 11, 22),
            plan=EXAMPLE / "plan.toml",
            bundles=bundles,
            database_url="",
            bill=EXAMPLE / "bill.csv",
            team_tag="",
            prices=price_settings(),
            previous=None,
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
            timeout=3600,
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
    assert {"Savings plan of 2024", "Lab servers", "commitments that nobody used"} <= {
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
        assert any("How to supply it: add jobs to [usage]" in text for text in texts)


@pytest.mark.slow
def test_the_same_review_gives_the_same_bytes(content, example):
    assert review_xlsx(example) == content


class Tables(HTMLParser):
    """The tables of a review's page by what is headed above them: rows of texts."""

    def __init__(self, page):
        super().__init__()
        self.found, self.heading, self.inside = {}, "", ""
        self.feed(page)

    def handle_starttag(self, tag, _attributes):
        if tag in {"h2", "h3"}:
            self.heading = ""
        if tag == "tr":
            self.found.setdefault(self.heading, []).append([])
        if tag in {"td", "th"}:
            self.found[self.heading][-1].append("")
        if tag in {"h2", "h3", "td", "th"}:
            self.inside = tag
        if tag in {"small", "br", "sup"} and self.inside == "td":
            self.found[self.heading][-1][-1] += "|"

    def handle_endtag(self, tag):
        if tag == self.inside:
            self.inside = ""

    def handle_data(self, data):
        if self.inside in {"h2", "h3"}:
            self.heading += data
        elif self.inside:
            self.found[self.heading][-1][-1] += data


def cents(value):
    """Return an amount as it is written anywhere, to the cent; None for a cell without one."""
    if not isinstance(value, str):
        return None if value is None else round(float(value), 2) + 0.0
    found = re.match(r"-?[0-9][0-9,]*(\.[0-9]+)?", value.strip())
    return None if found is None else round(float(Decimal(found[0].replace(",", ""))), 2) + 0.0


@pytest.fixture
def documents(recomputed, example):
    """The page's tables, LibreOffice's workbook and the JSON, of one review."""
    page = review_html(example)
    return Tables(page).found, recomputed({}), json.loads(review_json(example)), page


def options_compared(tables, book, document):
    """Return (page, workbook, JSON) of what each option costs."""
    paid = {
        row[0]: row[1:7] for row in tables["Payments at the most likely inputs, USD to the cent"]
    }
    written = {row[0]: row for row in book["Options"].iter_rows(2, values_only=True)}
    for one in document["options"]:
        shown, cells = paid[one["name"]], written[one["name"]]
        amounts = [*one["paid_usd"], one["paid_sum_usd"], one["npv_usd"]]
        for place, amount in enumerate(amounts):
            yield shown[place], cells[3 + place], str(amount)
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
    (found,) = (
        one for one in document["demand"]["forecast"]["forecasts"] if one["quantity"] == "usd"
    )
    shown = tables["What the next months need and cost"]
    shown = shown[[row[0] for row in shown].index("USD") + 1 :]
    cells = [row for row in book["Forecast"].iter_rows(2, values_only=True) if row[0] == "USD"]
    expected = [*found["periods"], found["total"]]
    for page, row, one in zip(shown, cells, expected, strict=True):
        for at, column, name in ((1, 2, "p10"), (2, 4, "p50"), (3, 6, "p90")):
            yield page[at], row[column], str(one[name])
        yield page[4], row[7], str(one["p90"] - one["p50"])


def allocation_compared(tables, book, document):
    """Return (page, workbook, JSON) of who pays what."""
    shown = tables["By project"][1:-1]
    cells = list(book["Allocation"].iter_rows(2, values_only=True))
    parts = ("direct_usd", "idle_usd", "overhead_usd")
    for page, row, one in zip(shown, cells, document["allocation"]["rows"], strict=False):
        amounts = [Decimal(one[part]) for part in parts]
        for at, amount in enumerate((*amounts, sum(amounts)), start=3):
            yield page[at], row[at], str(amount)
    assert len(shown) == len(document["allocation"]["rows"])


def projected_compared(book, document):
    """Return (workbook, JSON) of what a million units are projected to cost."""
    found = document["performance"]["projection"]
    expected = [(cost["usd"], cost["low"], cost["high"]) for one in found for cost in one["costs"]]
    rows = [row for row in book["Projected"].iter_rows(2, values_only=True) if row[10] is not None]
    assert len(rows) == len(expected) > 0
    for row, amounts in zip(rows, expected, strict=True):
        assert row[4] == "projected"
        yield from ((None, *each) for each in zip(row[10:13], amounts, strict=True))


@pytest.mark.slow
def test_every_amount_that_page_workbook_and_json_share_is_the_same_to_the_cent(documents, example):
    tables, book, document, page = documents
    compared = [
        *options_compared(tables, book, document),
        *model_compared(tables, book, document),
        *forecast_compared(tables, book, document),
        *allocation_compared(tables, book, document),
        *projected_compared(book, document),
    ]
    budget = f"{Decimal(document['outlook']['usd']):,.2f} USD"
    decision = {row[0]: row[1] for row in book["Decision"].iter_rows(values_only=True)}

    differing = [
        each
        for each in compared
        if cents(each[1]) != cents(each[2]) or (each[0] and cents(each[0]) != cents(each[2]))
    ]
    assert differing == []
    assert len(compared) > 200
    assert budget in page
    assert budget in decision[f"Budget for {document['outlook']['quarter']}"]
    saving = decision["what the recommendation saves against today's way, USD"]
    assert cents(saving) == cents(str(example.status_quo.npv - example.choice.npv))
    assert f"{example.choice.npv:,.2f}" in page
    assert f"{example.choice.npv:,.2f}" in " ".join(map(str, decision.values()))


@pytest.mark.slow
def test_the_page_and_json_have_the_same_figures_of_the_bill(documents):
    tables, _, document, _ = documents
    shown = [
        [cents(cell) for cell in row[2:3]] for row in tables["What the bill says of its use"][1:]
    ]
    expected = [[cents(usd)] for _, _, usd in document["supply"]["by_mode"]]

    assert shown == [*expected, [cents(document["supply"]["unused_usd"])]]
    costs = [cents(row[3]) for row in tables["3 Supply"][1:]]
    assert costs == [cents(one["usd_per_year"]) for one in document["supply"]["entries"]]
