from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.discounting import monthly_worth
from perfledger_cost_models.procurement.cost_model import (
    PurchaseMode,
)
from perfledger_cost_models.procurement.decision import evaluate, evaluate_at_modes
from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs
from perfledger_cost_models.tco.onprem import (
    SERVERS,
    figures_of,
    yearly_cost,
)
from tests.cost_models.procurement.example_models import CONFIRMED, a_model


@pytest.fixture
def model(plan_text, all_options):
    return a_model(plan_text + all_options, sheet=CONFIRMED)


@pytest.fixture
def likely(model):
    return {name: float(values[0]) for name, values in evaluate_at_modes(model).items()}


def way_of(model, kind, name=""):
    return next(option for option in model.options if option.mode is kind and name in option.name)


def test_hours_bought_one_by_one_cost_their_rate_discounted(model, likely):
    expected = sum(
        300_000 * 1.1 ** (month // 12) / 12 * 6.88 / 1.085 ** ((month + 1) / 12)
        for month in range(36)
    )

    assert likely[model.keep.npv] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("wacc", [0.0, 0.02, 0.085, 0.3])
def test_the_worth_of_a_dollar_is_that_of_the_finance_formulas(model, wacc):
    modes = {each.name: np.array([float(each.mode)]) for each in model.inputs}
    values = evaluate(model, modes | {"wacc": np.array([wacc])})

    monthly = monthly_worth(np.array([wacc]))[0]
    for year in (1, 2, 3):
        assert values[f"end_worth_{year}"][0] == pytest.approx((1 + wacc) ** -year, rel=1e-12)
        by_month = monthly * (1 + wacc) ** (1 - year)
        assert values[f"discount_{year}"][0] == pytest.approx(by_month, rel=1e-12)


def test_every_option_is_worth_its_ledger_of_payments(model, likely):
    """A ledger of 36 months and what is paid once, summed payment by payment."""
    for option in model.options:
        key = option.key
        ledger = [(0, likely[option.paid[0]])]
        for year in (1, 2, 3):
            at_end = likely[option.paid_at_end[year]] if year in option.paid_at_end else 0.0
            ledger.append((12 * year, at_end))
            part = (likely[option.paid[year]] - at_end) / 12
            ledger += [(12 * (year - 1) + month, part) for month in range(1, 13)]
        npv = sum(usd / 1.085 ** (month / 12) for month, usd in ledger)
        assert likely[option.npv] == pytest.approx(npv, rel=1e-9), key


def test_what_is_due_once_is_a_renewal_or_a_resale(model, likely):
    one = way_of(model, PurchaseMode.COMMITMENT, "one year upfront")
    owned = way_of(model, PurchaseMode.OWNED)
    monthly = way_of(model, PurchaseMode.COMMITMENT)

    assert [likely[one.paid_at_end[year]] for year in (1, 2)] == [likely[one.paid[0]]] * 2
    assert likely[owned.paid_at_end[3]] == -likely[f"{owned.key}_resale"]
    assert (3 in one.paid_at_end, monthly.paid_at_end) == (False, {})


def test_a_commitment_pays_all_hours_of_its_term_and_the_rest_on_demand(model, likely):
    option = way_of(model, PurchaseMode.COMMITMENT)

    assert option.devices == 56  # 300,000 h / (8760 h * 0.7), in whole instances of 8
    carried = 56 * 8760 * 0.7
    for year, paid in enumerate(option.paid[1:]):
        beyond = max(0.0, 300_000 * 1.1**year - carried) * 6.88
        assert likely[paid] == pytest.approx(56 * 8760 * 23.777 / 8 + beyond, rel=1e-9)


def test_what_is_paid_up_front_is_paid_before_the_first_hour(model, likely):
    three = way_of(model, PurchaseMode.COMMITMENT, "three years upfront")
    one = way_of(model, PurchaseMode.COMMITMENT, "one year upfront")

    assert likely[three.paid[0]] == pytest.approx(3 * 56 * 8760 * 20.695 / 8, rel=1e-9)
    assert likely[one.paid[0]] == pytest.approx(56 * 8760 * 32.36 / 8, rel=1e-9)
    assert likely[one.paid[3]] < likely[one.paid[2]]  # the third year was paid at its start


def test_owning_costs_what_the_cost_of_ownership_says(model, likely):
    option, server = way_of(model, PurchaseMode.OWNED), SERVERS[0]
    parameters = packaged_hardware_inputs()
    cost = yearly_cost(
        server,
        figures_of(parameters, {}),
        utilization=likely[f"{option.key}_load_1"],
    )
    nodes = option.devices / 8

    running = cost.support_usd + cost.colocation_usd + cost.staff_usd + cost.licences_usd
    assert likely[f"{option.key}_running"] == pytest.approx(nodes * float(running[0]), rel=1e-9)
    assert likely[f"{option.key}_energy_1"] == pytest.approx(
        nodes * float(cost.energy_usd[0]), rel=1e-9
    )
    assert likely[f"{option.key}_resale"] == pytest.approx(nodes * 320_000 * 0.28, rel=1e-9)


def test_another_accelerators_hours_count_by_their_ratio(model, likely):
    option = way_of(model, PurchaseMode.PAY_AS_YOU_GO, "TPU")

    assert likely[option.paid[1]] == pytest.approx(300_000 * 3 * 3.22, rel=1e-9)


def test_spot_costs_its_overhead_and_falls_back_on_demand(model, likely):
    option = way_of(model, PurchaseMode.SPOT)

    overhead = likely[f"{option.key}_overhead"]
    assert 1 < overhead < 1.2
    expected = 300_000 * (0.8 * overhead * 6.571 + 0.2 * 6.88)
    assert likely[option.paid[1]] == pytest.approx(expected, rel=1e-9)


def test_blocks_are_paid_whether_used_or_not(model, likely):
    option = way_of(model, PurchaseMode.BLOCK)

    assert likely[option.paid[1]] == pytest.approx(300_000 / 0.7 * 41.53 / 8, rel=1e-9)


@settings(max_examples=25)
@given(st.integers(1, 10**7), st.floats(1.0, 5.0))
def test_hours_bought_one_by_one_are_linear_in_their_number(hours, factor):
    model = a_model(LINEAR, sheet=CONFIRMED)
    values = {each.name: np.array([float(each.mode)]) for each in model.inputs}

    once, more = (
        evaluate(model, values | {"hours_a_year": np.array([number])})[model.keep.npv][0]
        for number in (float(hours), hours * factor)
    )
    assert more == pytest.approx(once * factor, rel=1e-9)


@settings(max_examples=25)
@given(
    st.sampled_from(["w1_usd_per_hour", "w2_usd_per_hour", "hours_a_year", "hours_growth"]),
    st.floats(1.0, 3.0),
)
def test_nothing_gets_cheaper_when_a_price_or_the_demand_rises(name, factor):
    model = a_model(LINEAR, sheet=CONFIRMED)
    values = {each.name: np.array([float(each.mode)]) for each in model.inputs}

    before = evaluate(model, values)
    after = evaluate(model, values | {name: values[name] * factor})
    assert all(
        after[option.npv][0] >= before[option.npv][0] * (1 - 1e-12) for option in model.options
    )


@settings(max_examples=25)
@given(st.integers(0, 60))
def test_more_supply_never_makes_the_rest_dearer(devices):
    less, more = (
        a_model(LINEAR, sheet=CONFIRMED, supply=(Decimal(number),) * 3)
        for number in (devices, devices + 8)
    )

    assert evaluate_at_modes(more)[more.keep.npv][0] <= evaluate_at_modes(less)[less.keep.npv][0]


LINEAR = """
[demand]
accelerator = "H100-80GB"
keep = "p5.48xlarge/on_demand"
growth = { low = 0.0, mode = 0.1, high = 0.3, source = "made up" }
hours = { low = 200000, mode = 300000, high = 400000, source = "made up" }
commitment_utilization = { low = 0.5, mode = 0.7, high = 0.8, source = "made up" }
[[option]]
name = "today"
where = "p5.48xlarge/on_demand"
[[option]]
name = "three years"
where = "p5.48xlarge/savings_plan/3y_no_upfront"
devices = 56
"""
