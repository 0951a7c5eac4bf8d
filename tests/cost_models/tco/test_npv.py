from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from perfledger_cost_models.discounting import CashFlows, present_value
from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs
from perfledger_cost_models.tco.horizon import Horizon
from perfledger_cost_models.tco.npv import npv_of_owning
from perfledger_cost_models.tco.onprem import SERVERS

H100 = SERVERS[0]
PARAMETERS = packaged_hardware_inputs()
CERTAIN = replace(
    PARAMETERS,
    parameters=tuple(
        replace(each, low=each.mode, high=each.mode) for each in PARAMETERS.parameters
    ),
)


def worth(usd, *, use=0.7, years=Horizon.FIVE, sheet=CERTAIN):
    return npv_of_owning(
        H100,
        sheet,
        use=use,
        rent_usd_per_useful_hour=np.array([usd]),
        rent_mode_usd=usd,
        years=years,
    )


def test_the_flows_are_those_worked_out_by_hand():
    """A year saves rent for 49,056 useful hours less 25,600 + 6,694 + 22,529 + 50,000 to run it."""
    investment = worth(6.88)

    running = 0.08 * 320_000 + 5.763 * 8760 * 1.54 * 0.0861 + 10.2 * 12 * 184.06 + 50_000
    saved = 6.88 * 8760 * 8 * 0.7 - running
    assert investment.flows_usd[0] == pytest.approx(-320_000 * 1.21 * 1.03)
    assert investment.flows_usd[1:5] == pytest.approx((saved,) * 4)
    assert investment.flows_usd[5] == pytest.approx(saved + 0.12 * 320_000)
    assert investment.resale_usd == pytest.approx(0.12 * 320_000)


def cash_flows(investment):
    """Return the flows with the resale at the end and the rest by the month."""
    purchase, *years = investment.flows_usd
    resale = [*[0.0] * (len(years) - 1), investment.resale_usd]
    monthly = tuple(year - once for year, once in zip(years, resale, strict=True))
    return CashFlows(once=(purchase, *resale), monthly=monthly)


def test_without_uncertainty_the_present_value_is_that_of_the_flows():
    investment = worth(6.88)

    expected = present_value(cash_flows(investment), rate_per_year=0.085)
    assert investment.npv_usd == pytest.approx(expected, rel=1e-12)
    assert (investment.npv_p5_usd, investment.npv_p50_usd, investment.npv_p95_usd) == pytest.approx(
        (expected,) * 3, rel=1e-9
    )
    assert investment.chance_worth_it == 1


def test_at_the_return_the_present_value_is_zero():
    investment = worth(6.88)

    assert investment.irr is not None
    assert present_value(cash_flows(investment), rate_per_year=investment.irr) == pytest.approx(
        0, abs=1e-6
    )


def test_dear_rent_repays_a_server_sooner():
    cheap, dear = worth(4.0), worth(7.0)

    assert dear.npv_usd > cheap.npv_usd
    assert cheap.payback_years is None or cheap.payback_years > (dear.payback_years or 0)


def test_cheap_rent_never_repays_a_server():
    investment = worth(1.0)

    assert (investment.payback_years, investment.chance_worth_it) == (None, 0)
    assert investment.npv_usd < 0


def test_where_the_rent_is_the_cost_of_owning_nothing_is_won():
    """At the modes and a rent of NPV zero, the rent is the annuity of all that is paid."""
    low, high = 1.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if worth(middle).npv_usd > 0 else (middle, high)

    from_formula = 196_046.5 / (8760 * 8 * 0.7)
    assert low == pytest.approx(from_formula, rel=1e-3)


def test_three_years_have_the_residual_of_three_years():
    investment = worth(6.88, years=Horizon.THREE)

    assert len(investment.flows_usd) == 4
    assert investment.flows_usd[3] - investment.flows_usd[2] == pytest.approx(0.28 * 320_000)


def test_draws_spread_around_the_flows():
    investment = worth(6.88, sheet=PARAMETERS)

    assert investment.npv_p5_usd < investment.npv_p50_usd < investment.npv_p95_usd
    assert 0.5 < investment.chance_worth_it <= 1


def test_a_licence_that_is_bought_lowers_the_value():
    licensed = replace(
        CERTAIN,
        parameters=tuple(
            replace(each, low=Decimal(4500), mode=Decimal(4500), high=Decimal(4500))
            if each.name.startswith("software_licence")
            else each
            for each in CERTAIN.parameters
        ),
    )

    assert worth(6.88, sheet=licensed).flows_usd[1] == pytest.approx(
        worth(6.88).flows_usd[1] - 8 * 4500
    )
