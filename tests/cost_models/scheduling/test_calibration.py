from dataclasses import replace

import numpy as np
import pytest

from perfledger_cost_models.job_logs.table import Job, table_of
from perfledger_cost_models.scheduling import calibration
from perfledger_cost_models.scheduling.calibration import calibration_of, is_near
from perfledger_cost_models.scheduling.cluster import equal_nodes
from perfledger_cost_models.scheduling.day_bootstrap import BootstrapInterval
from perfledger_cost_models.scheduling.policy import POLICIES
from perfledger_cost_models.scheduling.simulation import simulate


@pytest.fixture
def outcome():
    """Ten days, of each two jobs of which the second waits for an hour."""
    jobs = table_of(
        Job(submit_s=day * 86_400.0 + at, run_s=7200.0, devices=4)
        for day in range(10)
        for at in (0.0, 3600.0)
    )
    return simulate(jobs, equal_nodes(1, devices=4), POLICIES[0])


def with_record(outcome, factor):
    waits = ((outcome.start_ms - outcome.jobs.submit_ms) * factor).round().astype(np.int64)
    return replace(outcome, jobs=replace(outcome.jobs, wait_ms=waits))


@pytest.mark.parametrize(("days", "is_calibrated"), [(9, False), (10, True)])
def test_a_record_in_which_a_few_jobs_waited_calibrates_nothing(outcome, days, is_calibrated):
    recorded = with_record(outcome, 1.0)
    waits = np.where(np.arange(20) < 2 * days, recorded.jobs.wait_ms, 0)
    few = replace(recorded, jobs=replace(recorded.jobs, wait_ms=waits))
    replay_calibration = calibration_of(few)

    assert replay_calibration is not None
    assert replay_calibration.waiting_jobs == days
    assert replay_calibration.is_calibrated is is_calibrated


def test_a_replay_of_its_own_schedule_is_calibrated(outcome):
    replay_calibration = calibration_of(with_record(outcome, 1.0))

    assert replay_calibration is not None
    for ratio in (
        replay_calibration.wait_mean,
        replay_calibration.wait_p95,
        replay_calibration.utilization,
        replay_calibration.makespan,
    ):
        assert (ratio.low, ratio.middle, ratio.high) == pytest.approx((1, 1, 1))
    assert replay_calibration.job_error == pytest.approx(0)
    assert replay_calibration.is_calibrated


@pytest.mark.parametrize(
    ("factor", "is_calibrated"), [(0.8, True), (0.7, False), (1.35, True), (1.5, False)]
)
def test_waits_beyond_the_limit_are_not_calibrated(outcome, factor, is_calibrated):
    replay_calibration = calibration_of(with_record(outcome, factor))

    assert replay_calibration is not None
    assert replay_calibration.wait_mean.middle == pytest.approx(1 / factor)
    assert replay_calibration.is_calibrated is is_calibrated
    assert replay_calibration.rank[0] is not is_calibrated


def test_of_replays_that_are_not_calibrated_the_one_with_the_nearest_figures_is_first(outcome):
    # SDSC-BLUE-2000-4.2-cln of the Parallel Workloads Archive: half of the jobs wait for a minute
    # or less, and shortest-first with a tenth of the recorded mean wait was nearer job by job than
    # first come, first served with four fifths of it.
    exact = calibration_of(with_record(outcome, 1.0))
    assert exact is not None
    first_come = replace(exact, wait_p95=BootstrapInterval(0.56, None, None), job_error=3.24)
    shortest_first = replace(exact, wait_mean=BootstrapInterval(0.1, None, None), job_error=2.27)
    no_waits = replace(exact, wait_mean=BootstrapInterval(0.0, None, None), job_error=2.0)

    assert min((first_come, shortest_first, no_waits), key=lambda each: each.rank) is first_come
    assert exact.rank < first_come.rank
    assert replace(first_come, unplaceable=0.9).rank > shortest_first.rank


def test_a_record_without_waits_is_nearest_to_a_replay_without_waits(outcome):
    replay_calibration = calibration_of(with_record(outcome, 0.0))

    assert replay_calibration.rank == (True, replay_calibration.job_error)


def test_a_replay_that_leaves_jobs_out_is_not_calibrated(outcome):
    replay_calibration = calibration_of(replace(with_record(outcome, 1.0), unplaceable=1))

    assert replay_calibration is not None
    assert replay_calibration.unplaceable == pytest.approx(1 / 21)
    assert not replay_calibration.is_calibrated


def test_a_record_without_waits_calibrates_nothing(outcome):
    replay_calibration = calibration_of(with_record(outcome, 0.0))

    assert replay_calibration is not None
    assert (replay_calibration.wait_mean, replay_calibration.wait_p95) == (None, None)
    assert not replay_calibration.is_calibrated


def test_a_log_without_starts_has_no_calibration(outcome):
    assert calibration_of(outcome) is None


def test_the_limit_is_thirty_percent():
    assert is_near(BootstrapInterval(1.29, None, None))
    assert not is_near(BootstrapInterval(1.31, None, None))
    assert not is_near(BootstrapInterval(0.69, None, None))


@pytest.mark.parametrize(("middle", "expected"), [(0.75, True), (1.25, True), (1.2501, False)])
def test_a_ratio_as_far_off_as_the_limit_is_near(monkeypatch, middle, expected):
    monkeypatch.setattr(calibration, "MAX_ERROR", 0.25)

    assert is_near(BootstrapInterval(middle, None, None)) is expected


def test_limits_of_a_calibration_count_themselves(monkeypatch, outcome):
    recorded = with_record(outcome, 1.0)
    waits_s = recorded.jobs.wait_ms / 1000
    monkeypatch.setattr(calibration, "MIN_KNOWN_SHARE", 1.0)
    monkeypatch.setattr(calibration, "MIN_MEAN_WAIT_S", float(waits_s.mean()))
    monkeypatch.setattr(calibration, "MAX_UNPLACEABLE", 1 / 21)

    replay_calibration = calibration_of(replace(recorded, unplaceable=1))

    assert replay_calibration is not None
    assert replay_calibration.wait_mean is not None
    assert replay_calibration.is_calibrated
