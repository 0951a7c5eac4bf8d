from dataclasses import replace
from decimal import Decimal

import pytest

from perfledger_cost_models.review.document import UnknownFigure
from perfledger_cost_models.review.option_details import expiry
from tests.cost_models.procurement.example_models import CONFIRMED


@pytest.mark.slow(ci_only=True)
def test_owned_ways_have_a_break_even_and_a_resale(make_review, plan_text, all_options):
    review = make_review(plan_text + all_options)
    facts = {one.outcome.option.name: one for one in review.options}

    assert 0 < facts["buy"].break_even.p50 < 1
    servers = facts["buy"].outcome.option.devices // 8
    assert facts["buy"].resale[1] == servers * 320_000 * Decimal("0.28")
    assert facts["three years"].break_even.p50 == pytest.approx(23.777 / 55.04)
    devices = facts["three years"].outcome.option.devices
    assert facts["three years"].owed_usd == pytest.approx(
        Decimal(devices * 8760 * 2) * Decimal("2.972125")
    )
    assert facts["three years upfront"].owed_usd == 0
    assert facts["today"].break_even is None
    assert facts["blocks"].break_even.p50 == pytest.approx(41.53 / 55.04)
    assert isinstance(facts["TPU"].carbon, UnknownFigure)
    assert facts["buy"].carbon.energy_kwh > facts["today"].carbon.energy_kwh
    assert facts["buy"].payback_years > 0
    assert [facts[name].lock_in_months for name in ("today", "buy", "three years")] == [0, 0, 36]
    assert (facts["today"].owed_usd, facts["blocks"].owed_usd) == (0, 0)
    assert facts["buy"].return_per_year > 0


@pytest.mark.slow
def test_the_energy_is_that_of_the_devices_that_run_the_hours(make_review, plan_text, all_options):
    """Spot repeats work, and does a fifth on demand; a commitment carries a part of the need."""
    committed_a100 = """
[[option]]
name = "committed A100"
where = "a8/savings_plan/3y_no_upfront"
devices = 8
"""
    price = CONFIRMED.find("p5.48xlarge/savings_plan/3y_no_upfront")
    own = replace(price, sku="a8", accelerator="A100-80GB", usd_per_hour=Decimal(16))
    sheet = replace(CONFIRMED, prices=(*CONFIRMED.prices, own))
    review = make_review(plan_text + all_options + committed_a100, sheet=sheet)
    modes = {each.name: float(each.mode) for each in review.model.inputs}
    facts = {one.outcome.option.name: one for one in review.options}
    kwh = {name: one.carbon.energy_kwh for name, one in facts.items() if name != "TPU"}

    overhead = modes[f"{facts['spot'].outcome.option.key}_overhead"]
    assert overhead > 1
    assert kwh["spot"] == pytest.approx(kwh["today"] * (0.8 * overhead + 0.2))
    assert kwh["three years"] == pytest.approx(kwh["today"])
    carried = 8 * 8760 * 0.7 / 2  # H100 hours a year of 8 A100, each worth half of one
    a100_kwh = 8 * 8760 * 0.7 * 6.5 / 8 * 0.7 * 1.11
    rest_kwh = kwh["today"] * (300_000 - carried) / 300_000
    assert kwh["committed A100"] == pytest.approx(a100_kwh + rest_kwh)


def test_only_what_is_paid_upfront_has_a_return(make_review, plan_text):
    """A commitment larger than the first year's need loses money in it, but is no investment."""
    growing = "\n".join(
        'growth = { low = 1.0, mode = 1.0, high = 1.0, source = "test" }'
        if line.startswith("growth")
        else line
        for line in plan_text.splitlines()
    )
    facts = {
        one.outcome.option.name: one for one in make_review(f"{growing}\ndevices = 120\n").options
    }
    today = facts["today"].outcome

    assert facts["three years"].outcome.paid[1] > today.paid[1]
    assert facts["three years"].outcome.paid[3] < today.paid[3]
    assert (facts["three years"].return_per_year, facts["three years"].payback_years) == (
        None,
        None,
    )


def test_what_is_no_price_does_not_expire(make_review):
    assert expiry(make_review().demand.hours) is None


def test_the_curve_falls_with_use_where_hours_are_paid_for_unused(
    make_review, plan_text, all_options
):
    for one in make_review(plan_text + all_options).options:
        costs = [usd for _, usd in one.curve]
        assert costs == sorted(costs, reverse=True)


# Of each option: the hour at a use of 10, 70 and 100 %, the P5, P50 and P95 of its net present
# value in thousands, and the return and payback of choosing it.
KNOWN = {
    "today": ((6.88, 6.88, 6.88), (4745.235, 6093.042, 7522.178), None, None),
    "three years": ((29.72125, 4.245893, 2.972125), (3314.043, 4180.576, 5737.6), None, None),
    "three years upfront": (
        *((29.262659, 4.18038, 2.926266), (3263.188, 4127.281, 5680.356)),
        *(0.571548, 1.611425),
    ),
    "one year upfront": (
        *((42.265893, 6.037985, 4.226589), (4257.078, 5651.551, 7187.406)),
        *(0.391547, 2.51972),
    ),
    "blocks": ((51.9125, 7.416071, 5.19125), (5108.597, 6731.891, 8682.773), None, None),
    "buy": (
        *((32.185103, 4.66308, 3.286979), (3494.38, 4687.205, 6361.095)),
        *(0.569211, 1.713992),
    ),
    "buy A100": (
        *((35.004955, 5.083816, 3.587759), (3725.115, 5310.009, 7329.006)),
        *(0.611593, 1.652),
    ),
    "TPU": ((9.66, 9.66, 9.66), (6106.052, 8480.525, 11376.231), None, None),
    "spot": ((6.886072, 6.886072, 6.886072), (4758.022, 6116.239, 7560.379), None, None),
}


@pytest.mark.slow
def test_the_options_of_an_example_have_known_figures(make_review, plan_text, all_options):
    """So that a change of any formula shows; other tests say what is right."""
    for one in make_review(plan_text + all_options).options:
        usd, npv, interest, payback = KNOWN[one.outcome.option.name]
        uses = dict(one.curve)

        assert [float(uses[use]) for use in (0.1, 0.7, 1.0)] == pytest.approx(usd, rel=1e-5)
        band = [float(end) / 1000 for end in one.outcome.npv_band]
        assert band == pytest.approx(npv, rel=1e-5)
        assert (one.return_per_year is None) is (interest is None)
        assert one.return_per_year is None or one.return_per_year == pytest.approx(interest, 1e-4)
        assert one.payback_years is None or one.payback_years == pytest.approx(payback, 1e-4)


@pytest.mark.slow
def test_a_spot_hour_is_partly_that_of_on_demand(make_review, plan_text, all_options):
    """(1 - f) · overhead · spot + f · on demand, at the most likely of each."""
    review = make_review(plan_text + all_options)
    (spot,) = (one for one in review.options if one.outcome.option.name == "spot")
    modes = {each.name: each.mode for each in review.model.inputs}
    key, rate = spot.outcome.option.key, modes[spot.outcome.option.rate]

    expected = Decimal("0.8") * modes[f"{key}_overhead"] * rate + Decimal("0.2") * Decimal("6.88")
    assert [usd for _, usd in spot.curve] == pytest.approx([expected] * len(spot.curve))
