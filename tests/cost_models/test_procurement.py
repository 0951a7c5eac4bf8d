"""What the model of ways costs, against closed forms and against the cost of owning elsewhere."""

from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.decision import at_modes, evaluate
from perfledger_cost_models.onprem import LICENCES, SERVERS, figures_of, yearly_cost
from perfledger_cost_models.parameter import packaged_parameters
from perfledger_cost_models.procurement import (
    Figures,
    Kind,
    plan_inputs,
    way_inputs,
    ways_of,
)
from perfledger_cost_models.procurement_plan import PlanError, read_plan
from perfledger_cost_models.sheet import PriceMissingError, packaged_sheet
from perfledger_cost_models.supply import held, supplied
from perfledger_cost_models.way_costs import first_need, model_of


def a_model(text, supply=(Decimal(0),) * 3):
    plan = read_plan(text, "plan.toml")
    figures = Figures(plan=plan, sheet=packaged_sheet(), parameters=packaged_parameters())
    assert plan.demand.hours is not None
    shared = plan_inputs(figures, hours=plan.demand.hours, supply=supply)
    ways, unpriced = ways_of(figures, need_hours=first_need(shared))
    return model_of(
        plan.demand.accelerator,
        ways,
        keep=plan.demand.keep,
        inputs=(*shared, *way_inputs(figures, ways)),
        unpriced=unpriced,
    )


@pytest.fixture
def model(plan_text, all_options):
    return a_model(plan_text + all_options)


@pytest.fixture
def likely(model):
    return {name: float(values[0]) for name, values in at_modes(model).items()}


def way_of(model, kind, name=""):
    return next(way for way in model.ways if way.kind is kind and name in way.name)


def test_hours_bought_one_by_one_cost_their_rate_discounted(model, likely):
    expected = sum(300_000 * 1.1**year * 6.88 / 1.085 ** (year + 1) for year in range(3))

    assert likely[model.keep.npv] == pytest.approx(expected, rel=1e-9)


def test_a_commitment_pays_all_hours_of_its_term_and_the_rest_on_demand(model, likely):
    way = way_of(model, Kind.COMMITMENT)

    assert way.devices == 56  # 300,000 h / (8760 h * 0.7), in whole instances of 8
    carried = 56 * 8760 * 0.7
    for year, paid in enumerate(way.paid[1:]):
        beyond = max(0.0, 300_000 * 1.1**year - carried) * 6.88
        assert likely[paid] == pytest.approx(56 * 8760 * 23.777 / 8 + beyond, rel=1e-9)


def test_what_is_paid_up_front_is_paid_before_the_first_hour(model, likely):
    three = way_of(model, Kind.COMMITMENT, "three years upfront")
    one = way_of(model, Kind.COMMITMENT, "one year upfront")

    assert likely[three.paid[0]] == pytest.approx(3 * 56 * 8760 * 20.695 / 8, rel=1e-9)
    assert likely[one.paid[0]] == pytest.approx(56 * 8760 * 32.36 / 8, rel=1e-9)
    assert likely[one.paid[3]] < likely[one.paid[2]]  # the third year was paid at its start


def test_owning_costs_what_the_cost_of_ownership_says(model, likely):
    way, server = way_of(model, Kind.OWNED), SERVERS[0]
    parameters = packaged_parameters()
    cost = yearly_cost(
        server,
        figures_of(parameters, {}),
        licence=parameters.find(LICENCES).mode,
        utilization=likely[f"{way.key}_load_1"],
    )
    nodes = way.devices / 8

    running = cost.support_usd + cost.colocation_usd + cost.staff_usd + cost.licences_usd
    assert likely[f"{way.key}_running"] == pytest.approx(nodes * float(running[0]), rel=1e-9)
    assert likely[f"{way.key}_energy_1"] == pytest.approx(
        nodes * float(cost.energy_usd[0]), rel=1e-9
    )
    assert likely[f"{way.key}_resale"] == pytest.approx(nodes * 320_000 * 0.28, rel=1e-9)


def test_another_accelerators_hours_count_by_their_ratio(model, likely):
    way = way_of(model, Kind.PAY_AS_YOU_GO, "TPU")

    assert likely[way.paid[1]] == pytest.approx(300_000 * 3 * 3.22, rel=1e-9)


def test_spot_costs_its_overhead_and_falls_back_on_demand(model, likely):
    way = way_of(model, Kind.SPOT)

    overhead = likely[f"{way.key}_overhead"]
    assert 1 < overhead < 1.2
    expected = 300_000 * (0.8 * overhead * 6.571 + 0.2 * 6.88)
    assert likely[way.paid[1]] == pytest.approx(expected, rel=1e-9)


def test_blocks_are_paid_whether_used_or_not(model, likely):
    way = way_of(model, Kind.BLOCK)

    assert likely[way.paid[1]] == pytest.approx(300_000 / 0.7 * 41.53 / 8, rel=1e-9)


@settings(max_examples=25)
@given(st.integers(1, 10**7), st.floats(1.0, 5.0))
def test_hours_bought_one_by_one_are_linear_in_their_number(hours, factor):
    model = a_model(LINEAR)
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
    model = a_model(LINEAR)
    values = {each.name: np.array([float(each.mode)]) for each in model.inputs}

    before = evaluate(model, values)
    after = evaluate(model, values | {name: values[name] * factor})
    assert all(after[way.npv][0] >= before[way.npv][0] * (1 - 1e-12) for way in model.ways)


@settings(max_examples=25)
@given(st.integers(0, 60))
def test_more_supply_never_makes_the_rest_dearer(devices):
    less, more = (
        a_model(LINEAR, supply=(Decimal(number),) * 3) for number in (devices, devices + 8)
    )

    assert at_modes(more)[more.keep.npv][0] <= at_modes(less)[less.keep.npv][0]


def test_what_has_no_price_is_listed_and_not_priced(plan_text):
    options = """
[[option]]
name = "a"
where = "p4d.24xlarge/savings_plan/3y"
[[option]]
name = "b"
where = "tpu-v4/on_demand"
[[option]]
name = "c"
where = "gcp:a3-highgpu-1g/spot"
"""
    model = a_model(plan_text + options)

    assert [one.name for one in model.unpriced] == ["a", "b", "c"]
    assert [way.name for way in model.ways] == ["today", "three years"]
    assert "no price" in model.unpriced[0].why
    assert "[[speed]]" in model.unpriced[1].why
    assert "[spot]" in model.unpriced[2].why


def test_what_is_kept_must_be_sold_by_use_and_have_a_price(plan_text):
    committed = plan_text.replace(
        'keep = "p5.48xlarge/on_demand"', 'keep = "p5.48xlarge/savings_plan/3y_no_upfront"'
    )
    unknown = plan_text.replace("p5.48xlarge/on_demand", "p9.48xlarge/on_demand")

    with pytest.raises(PlanError, match="on demand"):
        a_model(committed)
    with pytest.raises(PriceMissingError, match="p9"):
        a_model(unknown)


def test_devices_are_whole_instances(plan_text):
    planned = plan_text + "devices = 12\n"

    assert "one p5.48xlarge" in a_model(planned).unpriced[0].why
    assert a_model(plan_text + "devices = 16\n").ways[1].devices == 16


def test_supply_counts_for_the_days_that_it_is_there(plan_text):
    text = """
[[supply]]
name = "half a year"
accelerator = "H100-80GB"
devices = 16
is_owned = false
since = 2024-01-01
until = 2027-04-01
source = "invoice"
[[supply]]
name = "others"
accelerator = "A100-80GB"
devices = 8
is_owned = true
since = 2024-01-01
until = 2030-01-01
source = "register"
"""
    found = held(
        read_plan(plan_text + text, "plan.toml").supply,
        accelerator="H100-80GB",
        hours_per_hour={},
        start=date(2026, 10, 1),
        years=3,
        left_out={},
    )

    years = supplied(found, years=3)
    assert years == (Decimal(183) / 365 * 16, Decimal(0), Decimal(0))
    assert found[1].equivalents is None
    assert "A100-80GB" in found[1].why_not


@pytest.mark.parametrize(
    ("since", "until", "days"),
    [
        ("2026-10-01", "2026-10-01", 1),  # its first day is its last
        ("2024-01-01", "2026-09-30", 0),  # the day before
        ("2024-06-01", "2027-05-31", 243),  # 31 May included
        ("2027-09-30", "9999-12-31", 1),
    ],
)
def test_supply_is_there_on_its_last_day(plan_text, since, until, days):
    table = '[[supply]]\nname = "a"\naccelerator = "H100-80GB"\ndevices = 1\nis_owned = false\n'
    (found,) = held(
        read_plan(
            f"{plan_text}{table}since = {since}\nuntil = {until}\nsource = 'made up'", "plan.toml"
        ).supply,
        accelerator="H100-80GB",
        hours_per_hour={},
        start=date(2026, 10, 1),
        years=1,
        left_out={},
    )

    assert found.equivalents == (Decimal(days) / 365,)


def test_inputs_that_ways_share_are_one(model):
    names = [each.name for each in model.inputs]

    assert len(set(names)) == len(names)


LINEAR = """
[demand]
accelerator = "H100-80GB"
keep = "p5.48xlarge/on_demand"
growth = { low = 0.0, mode = 0.1, high = 0.3, source = "made up" }
hours = { low = 200000, mode = 300000, high = 400000, source = "made up" }
use = { low = 0.5, mode = 0.7, high = 0.8, source = "made up" }
[[option]]
name = "today"
where = "p5.48xlarge/on_demand"
[[option]]
name = "three years"
where = "p5.48xlarge/savings_plan/3y_no_upfront"
devices = 56
"""
