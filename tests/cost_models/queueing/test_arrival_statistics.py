import numpy as np
import pytest

from perfledger_cost_models.job_logs.table import Job, JobLogError, table_of
from perfledger_cost_models.queueing import arrival_statistics
from perfledger_cost_models.queueing.arrival_statistics import arrivals_of, formula_obstacle


def log_of(at, run, *, devices=1, share=1000):
    return table_of(
        Job(submit_s=a, run_s=r, devices=devices, share_milli=share)
        for a, r in zip(at.tolist(), run.tolist(), strict=True)
    )


def random_arrivals(count=5000, *, mean_s=60.0, seed=5):
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.exponential(mean_s, count)), rng.exponential(600, count)


@pytest.mark.slow(ci_only=True)
def test_random_arrivals_of_single_devices_vary_as_random():
    found_arrival_statistics = arrivals_of(log_of(*random_arrivals(20_000)))

    assert found_arrival_statistics.arrivals_per_s == pytest.approx(1 / 60, rel=0.03)
    assert found_arrival_statistics.service_s == pytest.approx(600, rel=0.03)
    assert (
        found_arrival_statistics.arrival_cv2,
        found_arrival_statistics.service_cv2,
    ) == pytest.approx((1, 1), rel=0.06)


def test_gangs_have_no_formula():
    jobs = log_of(*random_arrivals(), devices=4)

    assert formula_obstacle(jobs) == "100 % of the jobs take several devices, up to 4"
    with pytest.raises(JobLogError, match="no queueing formula: 100 % of the jobs"):
        arrivals_of(jobs)


def test_parts_of_devices_have_no_formula():
    assert formula_obstacle(log_of(*random_arrivals(), share=500)) == "jobs take parts of a device"


def test_busy_hours_have_no_formula():
    at, run = random_arrivals()
    by_day = at + 8 * 3600 * (at // (16 * 3600))  # nobody comes at night

    assert "arrivals by hour varies" in formula_obstacle(log_of(by_day, run))


def test_even_arrivals_have_no_formula():
    at = np.arange(500) * 3600.0 / 7

    assert "varies" in formula_obstacle(log_of(at, np.full(500, 60.0)))


@pytest.mark.parametrize("count", [5, 60])
def test_a_few_jobs_or_hours_say_nothing(count):
    assert "fewer than 30" in formula_obstacle(log_of(*random_arrivals(count)))


@pytest.mark.parametrize("seed", range(20))
def test_random_arrivals_of_a_fortnight_are_recognised(seed):
    jobs = log_of(*random_arrivals(14 * 24 * 4, mean_s=900.0, seed=seed))

    assert formula_obstacle(jobs) == ""


def test_the_fewest_jobs_are_enough_and_those_that_took_nothing_do_not_count(monkeypatch):
    at, run = random_arrivals(100, mean_s=7200.0)
    monkeypatch.setattr(arrival_statistics, "MIN_JOBS", 100)

    assert "fewer" not in formula_obstacle(log_of(at, run))
    assert "fewer" in formula_obstacle(log_of(at[1:], run[1:]))
    assert "fewer" in formula_obstacle(log_of(at, np.zeros(100)))
    assert "fewer" in formula_obstacle(log_of(at, run, devices=0))


@pytest.mark.parametrize("devices", [2, 4])
def test_only_jobs_of_several_devices_are_gangs(devices):
    at, run = random_arrivals(400)
    jobs = table_of(
        Job(submit_s=a, run_s=r, devices=1 if place % 4 else devices)
        for place, (a, r) in enumerate(zip(at.tolist(), run.tolist(), strict=True))
    )

    assert formula_obstacle(jobs) == f"25 % of the jobs take several devices, up to {devices}"
