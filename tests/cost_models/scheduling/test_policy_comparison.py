import pytest

from perfledger_cost_models.job_logs.table import Job, table_of
from perfledger_cost_models.scheduling.cluster import equal_nodes
from perfledger_cost_models.scheduling.policy import POLICIES
from perfledger_cost_models.scheduling.policy_comparison import policy_gains, recorded_waiting
from perfledger_cost_models.scheduling.simulation import simulate

TIMES = ((0.0, 0.0), (0.0, 0.001), (0.002, 0.001), (0.004, 0.0))


def days_of_blocking(days):
    """Return jobs of which, each day, a wide one keeps a narrow one waiting for three hours."""
    rows = []
    for day in range(days):
        start = day * 86_400.0
        rows += [(start, 4 * 3600, 3), (start + 60, 60, 4), (start + 3600, 60, 1)]
    return table_of(Job(submit_s=at, run_s=run, devices=devices) for at, run, devices in rows)


def replayed(jobs, *names):
    by_name = {policy.name: policy for policy in POLICIES}
    return [simulate(jobs, equal_nodes(1, devices=4), by_name[name]) for name in names]


def test_a_policy_gains_what_stood_idle_while_it_was_wanted():
    base, other = policy_gains(replayed(days_of_blocking(10), "fifo", "easy"))

    assert base.hours_gained is None
    assert other.wait_saved_s is not None
    assert other.wait_saved_s.middle == pytest.approx(10_800 / 3, rel=0.01)
    # One device was free for four hours, a minute less, and two waited for it: both count it once.
    assert base.figures.wanted_idle_hours == pytest.approx(10 * 4, rel=0.02)


def test_a_policy_gains_nothing_over_itself():
    _, again = policy_gains(replayed(days_of_blocking(10), "fifo", "fifo"))

    assert again.hours_gained is not None
    assert (again.hours_gained.low, again.hours_gained.high) == (0, 0)


def test_too_few_days_have_no_interval():
    _, other = policy_gains(replayed(days_of_blocking(3), "fifo", "easy"))

    assert other.hours_gained is not None
    assert other.hours_gained.low is None


def test_the_log_itself_is_a_row_where_it_says_enough():
    jobs = table_of(Job(submit_s=at, run_s=10.0, devices=2, wait_s=5.0) for at in (0.0, 10.0, 20.0))

    found_recorded_waiting = recorded_waiting(jobs, devices=4)

    assert found_recorded_waiting is not None
    assert (found_recorded_waiting.wait_mean_s, found_recorded_waiting.wait_p95_s) == (5, 5)
    assert found_recorded_waiting.allocated == pytest.approx((20 + 10) / 80)
    assert recorded_waiting(days_of_blocking(1), devices=4) is None


def test_jobs_of_one_device_that_never_waited_or_ended_at_once_are_recorded_too():
    jobs = table_of(Job(submit_s=at, run_s=run, devices=1, wait_s=0.0) for at, run in TIMES)

    found_recorded_waiting = recorded_waiting(jobs, devices=1)

    assert found_recorded_waiting is not None
    assert (found_recorded_waiting.wait_mean_s, found_recorded_waiting.wait_p95_s) == (0, 0)
    assert found_recorded_waiting.allocated == pytest.approx(0.002 / 0.004)


def test_jobs_that_end_at_once_on_a_single_device_count_as_recorded():
    """All have a start; one of them waited, and two end in the moment in which they start."""
    rows = [(0.0, 0.0, 0.0), (1.0, 2.0, 0.0), (2.0, 0.0, 0.001)]
    jobs = table_of(Job(submit_s=at, run_s=run, devices=1, wait_s=wait) for at, wait, run in rows)

    found_recorded_waiting = recorded_waiting(jobs, devices=1)

    assert found_recorded_waiting is not None
    assert found_recorded_waiting.wait_mean_s == pytest.approx(2 / 3)
    assert found_recorded_waiting.wait_p50_s == 0


def test_jobs_that_ended_at_once_without_a_start_are_missing_starts():
    jobs = table_of(
        Job(submit_s=at, run_s=0.0, devices=1, wait_s=wait)
        for at, wait in ((0.0, 0.0), (1.0, None))
    )

    assert recorded_waiting(jobs, devices=1) is None
