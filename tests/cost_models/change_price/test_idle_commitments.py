from dataclasses import replace

import numpy as np
import pytest

from perfledger.bundle import Commitment
from perfledger_cost_models.change_price.idle_commitments import (
    cash_share,
    idle_hours,
    queue_effect,
    renewal_devices,
)
from perfledger_cost_models.queueing.queue_formulas import mmc

POOL = Commitment(
    where="onprem-8xH100",
    devices=64,
    busy_hours_per_year=0.75 * 64 * 8760,
    devices_per_job=8,
    job_hours=10.0,
)


def test_idle_hours_are_what_is_paid_for_and_not_used():
    assert idle_hours(POOL) == pytest.approx(0.25 * 64 * 8760)


def test_only_what_no_longer_fits_costs_cash():
    share = cash_share(np.array([-5.0, 0.0, 50.0, 100.0, 200.0]), 100.0)

    assert share.tolist() == [0.0, 0.0, 0.0, 0.0, 0.5]


def test_without_idle_devices_every_hour_more_costs_cash():
    assert cash_share(np.array([5.0]), 0.0).tolist() == [1.0]


def test_waits_are_those_of_as_many_servers_as_jobs_fit():
    effect = queue_effect(POOL, (0.0, 0.05 * 64 * 8760, 0.10 * 64 * 8760))

    arrivals = 0.75 * 8 / 36_000
    before = mmc(arrivals_per_s=arrivals, service_s=36_000, servers=8).wait_s
    after = mmc(arrivals_per_s=arrivals, service_s=36_000 * 0.8 / 0.75, servers=8).wait_s
    assert effect.wait_s == pytest.approx(before)
    assert effect.extra_wait_s is not None
    assert effect.extra_wait_hours is not None
    low, middle, _ = effect.extra_wait_s
    assert low == 0
    assert middle == pytest.approx(after - before)
    assert effect.busy_share_after == pytest.approx((0.75, 0.80, 0.85))
    jobs = 0.75 * 64 * 8760 / 8 / 10
    _, hours, _ = effect.extra_wait_hours
    assert hours == pytest.approx((after - before) * jobs / 3600)


def test_fewer_hours_shorten_the_wait():
    effect = queue_effect(POOL, (-30_000.0, -20_000.0, -10_000.0))

    assert effect.wait_s == queue_effect(POOL, (0.0, 0.0, 0.0)).wait_s
    assert effect.extra_wait_s is not None
    low, middle, high = effect.extra_wait_s
    assert low < middle < high < 0


@pytest.mark.parametrize("values", [{"job_hours": None}, {"busy_hours_per_year": 0.0}])
def test_without_the_jobs_waits_are_not_known_and_the_note_says_what_to_declare(values):
    fields = {name: getattr(POOL, name) for name in POOL.__slots__}
    pool = Commitment(**fields | values)

    effect = queue_effect(pool, (0.0, 1.0, 2.0))

    assert (effect.wait_s, effect.extra_wait_s, effect.extra_wait_hours) == (None, None, None)
    assert "declare job_hours" in effect.note


def test_freed_hours_replace_devices_that_are_as_busy_as_today():
    assert renewal_devices((-6_570.0, -3_285.0, 0.0), POOL) == pytest.approx((0.0, 0.5, 1.0))
    assert renewal_devices((-8_760.0, -4_380.0, 4_380.0), None) == pytest.approx((0.0, 0.5, 1.0))
    assert renewal_devices((-1.0, 0.0, 1.0), POOL) is None


def test_a_queue_that_grows_without_end_says_so():
    effect = queue_effect(POOL, (0.0, 1.0, idle_hours(POOL)))

    assert effect.extra_wait_s is None
    assert "cannot carry a load" in effect.note


def test_devices_that_are_busier_than_the_year_is_long_have_no_idle_hours():
    fields = {name: getattr(POOL, name) for name in POOL.__slots__}

    assert idle_hours(Commitment(**fields | {"busy_hours_per_year": 64 * 8760.0})) == 0
    assert idle_hours(Commitment(**fields | {"busy_hours_per_year": 65 * 8760.0})) == 0


def test_less_than_one_hour_too_many_is_bought_too():
    assert cash_share(np.array([0.5]), 0.25).tolist() == [0.5]


def test_one_hour_a_year_is_a_load_and_the_wait_of_all_jobs_has_both_ends():
    fields = {name: getattr(POOL, name) for name in POOL.__slots__}
    pool = Commitment(**fields | {"busy_hours_per_year": 1.0, "job_hours": 0.1})

    effect = queue_effect(pool, (-0.5, 5e4, 1e5))

    assert effect.wait_s is not None
    assert effect.extra_wait_s is not None
    assert effect.extra_wait_hours is not None
    jobs = 1.0 / 8 / 0.1
    assert effect.extra_wait_hours == pytest.approx(
        tuple(wait_s * jobs / 3600 for wait_s in effect.extra_wait_s)
    )
    assert effect.extra_wait_s[0] <= 0 < effect.extra_wait_s[1] < effect.extra_wait_s[2]


def test_less_than_one_freed_hour_replaces_a_part_of_a_device():
    half = replace(POOL, devices=1, busy_hours_per_year=0.5)

    assert renewal_devices((-0.3, -0.2, -0.1), half) == pytest.approx((0.2, 0.4, 0.6))
    assert renewal_devices((-8.76, -0.876, 0.0), None) == pytest.approx((0.0, 1e-4, 1e-3))
    assert renewal_devices((-0.1, 0.0, 0.1), half) is None


@pytest.mark.parametrize("scale", [1.0, 1e-5])
def test_freed_hours_are_devices_at_renewal_however_few_they_are(scale):
    """Each device of the pool has 6,570 busy hours a year, and of no pool 8,760."""
    freed = tuple(-scale * hours for hours in (3000.0, 2000.0, 1000.0))
    small = replace(POOL, busy_hours_per_year=0.75 * scale, devices=1)

    assert renewal_devices(freed, None) == pytest.approx(
        tuple(scale * hours / 8760 for hours in (1000, 2000, 3000))
    )
    assert renewal_devices(freed, POOL) == pytest.approx(
        tuple(scale * hours / 6570 for hours in (1000, 2000, 3000))
    )
    assert renewal_devices(freed, small) == pytest.approx((1000 / 0.75, 2000 / 0.75, 3000 / 0.75))
    assert renewal_devices((-scale, 0.0, scale), POOL) is None
