import numpy as np
import pytest

from perfledger_cost_models.capacity import wait_summary
from perfledger_cost_models.capacity.wait_summary import (
    recorded_summary,
    replayed_summary,
)
from perfledger_cost_models.job_logs.table import Job, table_of
from perfledger_cost_models.queueing.server_count import WaitTarget
from perfledger_cost_models.scheduling.cluster import equal_nodes
from perfledger_cost_models.scheduling.policy import POLICIES
from perfledger_cost_models.scheduling.simulation import simulate

TARGET = WaitTarget(wait_s=5.0, share=0.5)
# The second waits for ten seconds on one device; the third fits no node.
JOBS = table_of(
    Job(submit_s=submit, run_s=10.0, devices=devices, wait_s=wait)
    for submit, devices, wait in ((0.0, 4, 1.0), (0.0, 4, 7.0), (20.0, 8, 3.0))
)


def test_recorded_waits_are_those_of_the_log():
    found_wait_summary = recorded_summary(JOBS, TARGET, devices=8)

    assert found_wait_summary is not None
    assert found_wait_summary.wait_mean_s.middle == pytest.approx(11 / 3)
    assert found_wait_summary.wait_p50_s.middle == 3.0
    assert found_wait_summary.met_share.middle == pytest.approx(2 / 3)
    assert found_wait_summary.utilization == pytest.approx(80 / 160)
    assert len(found_wait_summary.wait_curve_s) > 100


def test_a_log_with_few_recorded_starts_has_no_recorded_waits():
    jobs = table_of(
        Job(submit_s=0.0, run_s=10.0, devices=1, wait_s=None if number else 1.0)
        for number in range(5)
    )

    assert recorded_summary(jobs, TARGET, devices=1) is None


def test_a_job_that_fits_no_node_misses_the_target():
    outcome = simulate(JOBS, equal_nodes(1, devices=4), POLICIES[0])

    found_wait_summary = replayed_summary(outcome, TARGET)

    assert (found_wait_summary.jobs, found_wait_summary.unplaceable) == (2, 1)
    assert found_wait_summary.met_share.middle == pytest.approx(1 / 3)
    assert found_wait_summary.utilization == pytest.approx(1.0)


def test_jobs_of_one_moment_have_no_utilization():
    jobs = table_of(Job(submit_s=0.0, run_s=10.0, devices=1) for _ in range(3))

    found_wait_summary = replayed_summary(
        simulate(jobs, equal_nodes(1, devices=1), POLICIES[0]), None
    )

    assert found_wait_summary.utilization is None
    assert found_wait_summary.met_share is None
    assert np.isclose(found_wait_summary.wait_mean_s.middle, 10.0)


def test_jobs_that_waited_and_ran_not_at_all_count_and_those_without_devices_do_not(monkeypatch):
    monkeypatch.setattr(wait_summary, "MIN_KNOWN_SHARE", 0.75)
    jobs = table_of(
        Job(submit_s=1.0, run_s=run, devices=devices, wait_s=wait)
        for run, devices, wait in (
            *((1.0, 1, 5.0), (0.0, 1, 5.001), (1.0, 1, 0.0), (1.0, 1, None)),
            *((1.0, 0, None), (None, 1, None)),
        )
    )

    found_wait_summary = recorded_summary(jobs, TARGET, devices=1)

    assert found_wait_summary is not None
    assert found_wait_summary.jobs == 3
    assert found_wait_summary.met_share.middle == pytest.approx(2 / 3)
