import pytest

from perfledger_cost_models.job_logs.job_table import Job, table_of
from perfledger_cost_models.scheduling.cluster import equal_nodes, read_cluster
from perfledger_cost_models.scheduling.job_outcomes import summarise_outcome
from perfledger_cost_models.scheduling.policy import POLICIES
from perfledger_cost_models.scheduling.policy_intervals import policy_intervals
from perfledger_cost_models.scheduling.simulation import simulate


def replayed(rows, name="fifo", devices=4):
    policy = next(policy for policy in POLICIES if policy.name == name)
    jobs = table_of(
        Job(submit_s=at, run_s=run, devices=wide, priority=urgency)
        for at, run, wide, urgency in rows
    )
    return simulate(jobs, equal_nodes(1, devices=devices), policy)


def test_what_is_free_of_a_pool_counts_after_its_own_last_job():
    rows = [Job(submit_s=0, run_s=3600, devices=3, pool="a")]
    rows += [Job(submit_s=3600.0 * hour, run_s=3600, devices=4, pool="b") for hour in range(100)]

    outcome = simulate(table_of(rows), read_cluster("pool,gpu\na,4\nb,4\n", devices=4), POLICIES[0])

    assert summarise_outcome(outcome).fragmented == pytest.approx(1 / (1 + 98 * 4), rel=0.05)


def test_without_a_time_between_submissions_nothing_is_in_use():
    found = policy_intervals(replayed([(0, 10, 1, 0)]))

    assert found.useful is None
    assert found.fragmented is None
