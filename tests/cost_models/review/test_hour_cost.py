from dataclasses import replace

import numpy as np
import pytest

from perfledger_cost_models.review.hour_cost import break_even, hour_curves


def test_an_hour_at_a_utilization_costs_what_the_options_payments_say(make_review, plan_text):
    """Where devices carry the need of every year exactly, both are the same figure."""
    devices, use = 48, 0.7
    text = "\n".join(
        f'hours = {{ low = 1, mode = {devices * 8760 * use}, high = 1e6, source = "test" }}'
        if line.startswith("hours ")
        else 'growth = { low = 0, mode = 0, high = 0.1, source = "test" }'
        if line.startswith("growth")
        else line
        for line in plan_text.splitlines()
    )
    owned = f'\n[[option]]\nname = "buy"\nwhere = "onprem-8xH100"\ndevices = {devices}\n'
    review = make_review(f"{text}\ndevices = {devices}{owned}")

    for one in review.options:
        assert dict(one.curve)[use] == pytest.approx(one.outcome.hour), one.outcome.option.name


def test_at_the_break_even_utilization_an_hour_costs_as_much_as_today(
    make_review, plan_text, all_options
):
    """Owned devices, commitments and blocks alike, where every input is certain."""
    review = make_review(plan_text + all_options)
    certain = replace(
        review.model,
        inputs=tuple(replace(each, low=each.mode, high=each.mode) for each in review.model.inputs),
    )
    shares = {option.key: break_even(certain, option) for option in certain.options}
    uses = {key: each.p50 for key, each in shares.items() if each is not None}

    assert len(uses) == 6
    for key, share in uses.items():
        assert share is not None
        assert float(hour_curves(certain, [share])[key][0]) == pytest.approx(6.88)


@pytest.mark.slow
def test_owned_devices_break_even_over_the_years_of_the_review(make_review, plan_text, all_options):
    """Own arithmetic: a server of eight H100, sold after three years, at the most likely inputs."""
    review = make_review(plan_text + all_options)
    (buy,) = (one for one in review.options if one.outcome.option.name == "buy")
    months = (1.085 ** (-1 / 12)) ** np.arange(1, 13)
    years = months.mean() * (1 + 1 / 1.085 + 1 / 1.085**2)
    bought = 320_000 * 1.21 * 1.03 - 320_000 * 0.28 / 1.085**3
    running = 0.08 * 320_000 + 10.2 * 12 * 184.06 + 0.25 * 200_000
    usd_of_power = 10.2 * 8760 * 1.54 * 0.0861
    fixed = bought + years * (running + 0.25 * usd_of_power)

    likely = fixed / (8 * 8760 * 6.88 * years - years * 0.45 * usd_of_power)
    assert likely == pytest.approx(0.4719, abs=0.0001)
    assert buy.break_even.p50 == pytest.approx(likely, abs=0.03)  # the draws' median


def test_a_commitment_above_todays_price_never_breaks_even(make_review):
    review = make_review()
    (option,) = (each for each in review.model.options if each.devices is not None)
    dear = replace(
        review.model,
        inputs=tuple(
            replace(each, low=7 * each.mode, mode=7 * each.mode, high=7 * each.mode)
            if each.name == option.rate
            else each
            for each in review.model.inputs
        ),
    )

    share = break_even(dear, option)

    assert share is not None
    assert (share.p50, share.chance_ever) == (None, 0)
