import numpy as np
import pytest

from perfledger_cost_models.job_logs.job_table import Job, JobLogError, table_of
from perfledger_cost_models.queueing.arrival_statistics import arrivals_of


def days_of_blocking(days):
    """Return jobs of which, each day, a wide one keeps a narrow one waiting for three hours."""
    rows = []
    for day in range(days):
        start = day * 86_400.0
        rows += [(start, 4 * 3600, 3), (start + 60, 60, 4), (start + 3600, 60, 1)]
    return table_of(Job(submit_s=at, run_s=run, devices=devices) for at, run, devices in rows)


def test_random_arrivals_of_single_devices_vary_as_random():
    rng = np.random.default_rng(5)
    at, run = np.cumsum(rng.exponential(60, 20_000)), rng.exponential(600, 20_000)
    found = arrivals_of(
        table_of(Job(submit_s=a, run_s=r, devices=1) for a, r in zip(at, run, strict=True))
    )

    assert found.arrivals_per_s == pytest.approx(1 / 60, rel=0.03)
    assert (found.arrival_cv2, found.service_cv2) == pytest.approx((1, 1), rel=0.06)


def test_devices_of_one_job_come_together():
    jobs = table_of(Job(submit_s=float(at), run_s=10.0, devices=4) for at in range(40))

    found = arrivals_of(jobs)

    assert (found.arrivals_per_s, found.arrival_cv2) == pytest.approx((4.0, 0.0))
    assert found.service_cv2 == pytest.approx(0.0, abs=1e-12)


def test_a_few_jobs_say_nothing():
    with pytest.raises(JobLogError, match="at least 30"):
        arrivals_of(days_of_blocking(2))
