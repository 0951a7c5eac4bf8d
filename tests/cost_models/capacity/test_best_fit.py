from dataclasses import replace

import numpy as np
import pytest

from perfledger_cost_models.capacity.best_fit import (
    MAX_SLOW_JOBS,
    best_fit,
    candidates,
    fitted_policy,
    recorded_nodes,
)
from perfledger_cost_models.capacity.node_shape import NodeShape, sustained_devices
from perfledger_cost_models.job_logs.table import Job, table_of
from perfledger_cost_models.scheduling.cluster import equal_nodes
from perfledger_cost_models.scheduling.policy import POLICIES
from perfledger_cost_models.scheduling.simulation import simulate

BY_NAME = {policy.name: policy for policy in POLICIES}


def made_up(count, *, seed=1):
    rng = np.random.default_rng(seed)
    size = rng.choice([1, 2, 4, 8], count)
    run = rng.lognormal(6.5, 1.5, count)
    at = np.cumsum(rng.exponential(float((size * run).mean()) / 27, count))
    return table_of(
        Job(submit_s=submit, run_s=seconds, devices=devices, limit_s=2 * seconds)
        for submit, seconds, devices in zip(at.tolist(), run.tolist(), size.tolist(), strict=True)
    )


def recorded_by(policy, nodes, jobs):
    """Return the jobs with the waits of a schedule as their record."""
    outcome = simulate(jobs, equal_nodes(nodes, devices=8), BY_NAME[policy])
    return replace(outcome.jobs, wait_ms=outcome.start_ms - outcome.jobs.submit_ms)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "easy",
        *(
            pytest.param(name, marks=pytest.mark.slow(ci_only=True))
            for name in ("fifo", "fifo-pass")
        ),
    ],
)
def test_the_scheduler_and_its_nodes_are_recognised_by_their_record(name):
    jobs = recorded_by(name, 4, made_up(400))

    fit = best_fit(jobs, NodeShape(8), candidates(jobs))

    assert fit is not None
    assert (fit.policy.name, fit.nodes) == (name, 4)
    assert fit.calibration.is_calibrated
    assert recorded_nodes(jobs, NodeShape(8), fit) == 4


def test_nodes_that_could_not_have_run_the_record_fit_nothing():
    jobs = recorded_by("fifo", 40, made_up(300))
    jobs = replace(jobs, wait_ms=jobs.wait_ms + 300_000)  # not for lack of devices
    in_use = sustained_devices(jobs) or 0

    fit = best_fit(jobs, NodeShape(8), candidates(jobs))
    smaller = best_fit(jobs, NodeShape(8), candidates(jobs), stated_devices=in_use // 2)

    assert fit is not None
    assert smaller is not None
    assert fit.nodes * 8 >= in_use > smaller.nodes * 8
    assert smaller.nodes * 8 >= in_use // 2


def test_a_policy_is_fitted_on_given_nodes():
    jobs = recorded_by("easy", 4, made_up(300))

    policy = fitted_policy(jobs, equal_nodes(4, devices=8), candidates(jobs))

    assert policy is BY_NAME["easy"]


def test_without_recorded_starts_nothing_fits():
    jobs = made_up(50)

    assert best_fit(jobs, NodeShape(8), candidates(jobs)) is None
    assert fitted_policy(jobs, equal_nodes(4, devices=8), candidates(jobs)) is None
    assert (
        recorded_nodes(jobs, NodeShape(8), best_fit(jobs, NodeShape(8), candidates(jobs))) is None
    )


def test_jobs_that_never_waited_show_the_devices_that_they_held():
    jobs = table_of(Job(submit_s=at * 10.0, run_s=100.0, devices=4, wait_s=0.0) for at in range(20))

    assert best_fit(jobs, NodeShape(8), candidates(jobs)) is None
    assert recorded_nodes(jobs, NodeShape(8), None) == 5


def of_two_teams():
    return table_of(
        Job(submit_s=at * 10.0, run_s=9.0, devices=1, team="ab"[at % 2], priority=at % 3)
        for at in range(9)
    )


def test_policies_that_order_nothing_in_a_log_are_not_tried():
    every = {policy.name for policy in candidates(of_two_teams())}

    assert every - {policy.name for policy in candidates(made_up(10))} == {"fair", "priority"}


def test_long_logs_are_not_replayed_under_slow_policies():
    few = of_two_teams()
    many = few.take(np.arange(MAX_SLOW_JOBS + 1) % len(few))

    assert {policy.name for policy in candidates(few)} - {
        policy.name for policy in candidates(many)
    } == {"fair", "srtf"}
