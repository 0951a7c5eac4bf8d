import re
from dataclasses import replace
from datetime import date
from decimal import Decimal
from html.parser import HTMLParser

import pytest

from perfledger_cost_models.billing.budget_variance import BudgetVariance
from perfledger_cost_models.review.document import (
    PreviousDecision,
    TeamHours,
    UnknownFigure,
    WorkloadHours,
)
from perfledger_service.rendering.review.html import review_html
from perfledger_service.rendering.review.rows import MAX_ROWS

VOID = {"meta", "br", "img", "hr", "link", "input", "col"}


class Page(HTMLParser):
    """The tags and the text of a page; asserts that each tag is closed by its own."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text = [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):  # noqa: ARG002 - the library's signature
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):  # noqa: ARG002 - the library's signature
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def words_of(review):
    return " ".join(Page(review_html(review)).text.replace("\xa0", " ").split())


def previous(**values):
    usual = PreviousDecision(
        quarter="2026Q2",
        option="today",
        where="p5.48xlarge/on_demand",
        expected_quarter=values.pop("expected_quarter"),
        variance=UnknownFigure(name="budget against actual", reason="no bill", remedy="--bill"),
        changed_inputs=(("Growth of the hours", Decimal("0.1"), Decimal("0.2")),),
    )
    return replace(usual, **values)


def test_a_page_is_one_file_that_is_well_formed_and_loads_nothing(small, covered_review):
    for review in (small, covered_review):
        text = review_html(review)
        page = Page(text)

        assert page.tags.count("html") == 1
        assert not {"script", "link", "img", "iframe"} & set(page.tags)
        assert not re.search(r"url\(|@import|href=\"(?!#|https://)", text)


def test_the_decision_stands_before_the_options_and_every_option_is_named(small):
    words = words_of(small)

    assert words.index(small.choice.option.name) < words.index("Inputs")
    for one in small.options:
        assert one.outcome.option.name in words
    assert f"{small.choice.npv:,.0f} USD" in words


def test_every_unknown_figure_is_on_the_page_with_its_remedy(small):
    words = words_of(small)

    assert small.unknowns
    for part in small.unknowns:
        assert " ".join(part.remedy.split()) in words


def test_names_of_others_are_text(small):
    evil = "<script>alert(1)</script>\u202e"
    model = replace(
        small.model, inputs=tuple(replace(each, source=evil) for each in small.model.inputs)
    )
    demand = replace(
        small.demand,
        teams=(TeamHours(team=evil, accelerator=evil, hours=Decimal(1), share=0.5),),
        workloads=(
            WorkloadHours(
                repository=evil,
                workload=evil,
                team=evil,
                where=evil,
                hours=1.0,
                low=None,
                high=None,
                source=evil,
            ),
        ),
    )

    text = review_html(replace(small, title=evil, model=model, demand=demand))

    assert "<script" not in text
    assert "\u202e" not in text
    assert "&lt;script&gt;" in text


def test_of_many_rows_a_page_has_the_first(small):
    team = TeamHours(team="a-team", accelerator="H100-80GB", hours=Decimal(1), share=0.001)
    demand = replace(small.demand, teams=(team,) * (MAX_ROWS + 5))

    assert words_of(replace(small, demand=demand)).count("a-team") == MAX_ROWS


def test_a_budget_is_held_against_what_was_paid(small):
    variance = BudgetVariance(
        budget_usd=Decimal("1000.00"),
        volume_usd=Decimal("100.50"),
        efficiency_usd=None,
        price_usd=Decimal("-50.25"),
        actual_usd=Decimal("1050.25"),
    )
    last = previous(expected_quarter=small.expected_quarter, variance=variance)

    words = words_of(replace(small, last=last))
    measured = words_of(
        replace(
            small, last=replace(last, variance=replace(variance, efficiency_usd=Decimal("7.77")))
        )
    )

    for amount in ("1,000", "100", "-50", "1,050"):
        assert amount in words
    assert re.search(r"slower or faster\s*8", measured)
    assert "Growth of the hours" in words


def test_without_a_bill_the_last_review_has_no_variance(small):
    last = previous(expected_quarter=small.expected_quarter)

    assert "no bill" in words_of(replace(small, last=last))


def test_devices_that_carry_nothing_say_why(covered_review):
    (entry,) = covered_review.supply.entries
    idle = replace(entry, equivalents=None, omission_reason="its speed is not known")
    supply = replace(covered_review.supply, entries=(idle,))

    words = words_of(replace(covered_review, supply=supply))

    assert "its speed is not known" in words
    assert "2038-02-28" in words


@pytest.mark.slow
def test_the_examples_page_has_its_figures_drawn_and_measured(example):
    text = review_html(example)
    words = Page(text).text

    assert text.count("<svg") >= 6
    assert "gpt:step" in words
    assert "A100-80GB" in words
    assert date(2026, 8, 20).isoformat() in words
