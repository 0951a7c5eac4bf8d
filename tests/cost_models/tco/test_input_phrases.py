from decimal import Decimal

import pytest

from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs
from perfledger_cost_models.tco.input_phrases import input_figure, input_phrase

NAMES = tuple(one.name for one in packaged_hardware_inputs().parameters)


@pytest.mark.parametrize("name", NAMES)
def test_each_packaged_input_has_a_phrase(name):
    assert input_phrase(name) != name
    assert "_" not in input_phrase(name)


def test_no_two_inputs_have_one_phrase():
    assert len(set(map(input_phrase, NAMES))) == len(NAMES)


@pytest.mark.parametrize(
    ("value", "unit", "figure"),
    [
        ("0.085", "per year", "8.5 % a year"),
        ("0.4", "fraction", "40 %"),
        ("0.08", "of capex per year", "8 % of capex a year"),
        ("1.54", "ratio", "1.54"),
        ("320000", "USD", "320,000 USD"),
    ],
)
def test_shares_and_yearly_rates_are_percentages(value, unit, figure):
    assert input_figure(Decimal(value), unit) == figure
