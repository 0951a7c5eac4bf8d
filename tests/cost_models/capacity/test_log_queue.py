import numpy as np
import pytest

from perfledger_cost_models.capacity.log_queue import log_queue_plan
from perfledger_cost_models.job_logs.table import Job, JobLogError, table_of
from perfledger_cost_models.queueing.server_count import WaitTarget
from perfledger_cost_models.scheduling.policy import POLICIES

TARGET = WaitTarget(wait_s=60.0, share=0.9)


def plan_of(jobs, *, devices=None, per_node=None, policy=None, target=None):
    return log_queue_plan(
        jobs, log="jobs.csv", devices=devices, per_node=per_node, policy=policy, target=target
    )


def random_single_jobs(count=6000):
    rng = np.random.default_rng(5)
    at, run = np.cumsum(rng.exponential(600, count)), rng.exponential(1800, count)
    return table_of(
        Job(submit_s=a, run_s=r, devices=1) for a, r in zip(at.tolist(), run.tolist(), strict=True)
    )


def gangs(wait_s=30.0):
    return table_of(
        Job(submit_s=at * 100.0, run_s=400.0, devices=4, wait_s=wait_s) for at in range(20)
    )


def test_a_gang_log_has_its_record_first_and_no_formula():
    plan = plan_of(gangs(), devices=16, target=TARGET)

    assert plan.recorded.wait_mean_s.middle == 30
    assert plan.recorded.met_share.middle == 1.0
    assert plan.formula is None
    assert plan.formula_obstacle == "the log has fewer than 30 jobs that ran"
    assert plan.per_node == 8
    assert plan.needed.devices == 16
    assert plan.replayed_on_needed.met_share.middle >= 0.9


def test_devices_on_which_the_record_misses_the_target_are_not_enough():
    plan = plan_of(gangs(wait_s=7200.0), target=TARGET)

    assert plan.replayed.wait_mean_s.middle == 0
    assert plan.recorded.met_share.middle == 0
    assert (plan.needed, plan.replayed_on_needed) == (None, None)
    assert plan.needed_in_replay.devices == plan.recorded_devices == 16


def test_more_devices_than_the_record_had_may_be_enough():
    jobs = table_of(
        Job(submit_s=float(at), run_s=400.0, devices=4, wait_s=999.0 * at) for at in range(20)
    )

    plan = plan_of(jobs, devices=4, target=TARGET)

    assert not plan.calibration.is_calibrated
    assert plan.needed.devices > plan.recorded_devices == 4
    assert plan.needed_in_replay is None


def test_devices_that_are_not_given_fit_the_record():
    plan = plan_of(gangs(wait_s=0.0))

    assert (plan.devices, plan.are_devices_given, plan.is_policy_fitted) == (16, False, False)
    assert plan.needed is None


def test_a_given_policy_is_not_fitted():
    plan = plan_of(gangs(), policy=POLICIES[2])

    assert (plan.policy.name, plan.is_policy_fitted) == ("easy", False)


@pytest.mark.slow(ci_only=True)
def test_single_random_jobs_have_a_formula_beside_their_replay():
    plan = plan_of(random_single_jobs(), devices=4)

    assert plan.formula_obstacle == ""
    assert plan.formula.exact.wait_s == pytest.approx(plan.replayed.wait_mean_s.middle, rel=0.2)
    assert plan.recorded is None
    assert plan.calibration is None


def test_without_starts_devices_must_be_given():
    with pytest.raises(JobLogError, match="give --devices"):
        plan_of(random_single_jobs())


@pytest.mark.parametrize("devices", [0, 12])
def test_devices_are_whole_nodes(devices):
    with pytest.raises(JobLogError, match="not whole nodes of 8"):
        plan_of(gangs(), devices=devices, per_node=8)


def test_jobs_of_single_devices_need_no_more_than_one():
    jobs = table_of(Job(submit_s=at * 1000.0, run_s=400.0, devices=1) for at in range(20))

    plan = plan_of(jobs, devices=1, target=TARGET)

    assert (plan.devices, plan.needed.devices) == (1, 1)
    assert plan.replayed.wait_mean_s.middle == 0
