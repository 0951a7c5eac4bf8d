"""The page of costs where a field is invalid: the form stays, with what is wrong."""

from dataclasses import replace

from perfledger_service.rendering.cost.page import costs_page, what_if_part
from perfledger_service.values.change_price import PriceHistory
from perfledger_service.values.cost_views import CostForm, WhatIfView

VIEW = WhatIfView(
    form=CostForm(job_hours='"><script>', at=("<b>",)),
    option_names=("on-prem",),
    command=("perfledger",),
    problems={"job_hours": "'\"><script>' is no number"},
)


def test_texts_of_the_address_are_shown_and_never_markup():
    part = what_if_part("octo/models", VIEW)

    assert "<script>" not in part
    assert "<b>" not in part
    assert 'aria-describedby="problem-job_hours"' in part
    assert "Correct the marked field" in part


def test_a_project_without_changes_is_told_how_they_get_a_price():
    page = costs_page(
        "octo/models", VIEW, PriceHistory(repository="x/y", checks=(), has_older=False)
    )

    assert "[[fleet]]" in page
    assert page.count("<h1>") == 1


def test_the_slider_stands_at_the_share_that_was_computed_with():
    part = what_if_part("octo/models", replace(VIEW, use=0.425))

    assert 'value="42.5"' in part
