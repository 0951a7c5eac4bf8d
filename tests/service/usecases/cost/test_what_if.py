"""The comparison that a what-if form asks for."""

import re
import shlex
from datetime import date

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app
from perfledger_service.settings.service import PriceSettings
from perfledger_service.usecases.cost.what_if import OPTION_NAMES, what_if
from perfledger_service.usecases.inputs.price_books import read_price_books
from perfledger_service.values.cost_views import COST_NUMBERS, CostForm

TODAY = date(2026, 11, 20)


@pytest.fixture(scope="module")
def books():
    return read_price_books(
        PriceSettings.model_validate({"prices": "", "overrides": "", "contract": ""}), today=TODAY
    )


def test_a_place_without_a_server_has_no_cost_of_owning(books):
    view = what_if(books, CostForm(at=("tpu-v4",)), today=TODAY)

    assert view.comparison.accelerators == ("TPU-v4",)
    assert view.owning is None
    assert view.problems == {}


def test_without_a_share_the_usual_one_is_assumed_and_said(books):
    usual = what_if(books, CostForm(at=("tpu-v4",)), today=TODAY)
    factor = what_if(books, CostForm(at=("tpu-v4",), allocated_percent="40"), today=TODAY)

    assert usual.use == factor.use == 0.4
    assert usual.comparison.rows == factor.comparison.rows


def test_spot_prices_rank_once_their_interruptions_are_given(books):
    form = CostForm(at=("tpu-v4",), interruptions_per_hour="0.1", checkpoint_seconds="120")
    view = what_if(books, form, today=TODAY)

    spot = {row.cost.name: row.may_rank for row in view.comparison.rows}
    assert spot["gcp:tpu-v4/spot"]


def test_the_same_form_is_computed_once(books):
    form = CostForm(at=("tpu-v4",))

    first, second = (what_if(books, form, today=TODAY) for _ in range(2))

    assert first.comparison is second.comparison


@pytest.mark.slow
def test_each_field_is_an_option_of_the_command():
    output = CliRunner().invoke(app, ["cost", "compare", "--help"]).stdout

    options = {f"--{field.replace('_', '-')}" for field in COST_NUMBERS}
    assert options <= set(re.findall(r"--[a-z-]+", output))


def test_the_command_has_an_option_for_each_field_that_is_given(books):
    form = CostForm(allocated_percent="x y", at=("a b",), shows_all=True)
    view = what_if(books, form, today=TODAY)

    assert shlex.join(view.command) == (
        "perfledger cost compare --at 'a b' --allocated-percent 'x y' --all"
    )
    assert view.option_names == OPTION_NAMES
    assert list(view.problems) == ["allocated_percent"]
