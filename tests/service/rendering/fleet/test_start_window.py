import pytest

from perfledger_cost_models.energy.carbon_aware_start import StartPlan, StartWindow
from perfledger_cost_models.energy.start_objective import StartObjective
from perfledger_service.rendering.fleet.start_window import window_savings


def plain_text(text):
    """Return a text with plain spaces."""
    return " ".join(text.split())


def plan(usd):
    return StartPlan(runs=((0.0, 3600.0),), kg_per_kwh=None, kg=None, usd=usd)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (5.0, 4.0, "It costs 4.00 USD, an immediate start 5.00 USD, 20.0 % less."),
        (5.0, 5.0, "It costs 5.00 USD, an immediate start 5.00 USD."),
        (
            3.0,
            -12.0,
            "It earns 12.00 USD, an immediate start costs 3.00 USD: 15.00 USD less to pay.",
        ),
        (-2.0, -2.0, "It earns 2.00 USD, an immediate start earns 2.00 USD."),
        (-2.0, 0.0, "It costs 0.00 USD, an immediate start earns 2.00 USD: 2.00 USD more to pay."),
    ],
)
def test_a_cost_below_zero_is_earned_and_no_percentage_of_it_is_given(before, after, sentence):
    window = StartWindow(
        aim=StartObjective.USD, values=((0.0, 3600.0, 1.0),), at_once=plan(before), best=plan(after)
    )

    assert [plain_text(each) for each in window_savings(window)] == [sentence]
