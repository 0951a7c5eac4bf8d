import pytest

from perfledger_cost_models.job_logs.table import Job, table_of
from perfledger_cost_models.scheduling.cluster import equal_nodes
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


def test_each_figure_lies_between_its_ends():
    rows = [(86_400.0 * day, 20_000, 3, 0) for day in range(14)]
    rows += [(86_400.0 * day + 60, 60 + 30 * day, 4, day % 2) for day in range(14)]

    outcome = replayed(rows, "priority-preempt")

    figures, around = summarise_outcome(outcome), policy_intervals(outcome)
    assert around.wasted_hours.middle == pytest.approx(figures.wasted_hours)
    for name in ("wait_mean_s", "wait_p95_s", "slowdown_mean", "useful", "fragmented"):
        each = getattr(around, name)
        assert each.middle == pytest.approx(getattr(figures, name))
        assert each.low <= each.middle <= each.high


def test_what_is_idle_while_a_queue_empties_is_in_the_interval_of_what_is():
    rows = [(86_400.0 * day, 3600, 1, 0) for day in range(10)]
    rows += [(86_400.0 * 9 + 1 + place, 86_400, 3, 0) for place in range(9)]

    outcome = replayed(rows)

    figures, around = summarise_outcome(outcome), policy_intervals(outcome)
    assert around.wanted_idle_hours.middle == pytest.approx(figures.wanted_idle_hours)
    assert figures.wanted_idle_hours > 150


def test_what_typical_jobs_cannot_use_is_a_fragment():
    three_of_four = replayed([(0, 100, 3, 0), (100, 100, 3, 0)])
    one_of_four = replayed([(0, 100, 1, 0), (100, 100, 1, 0)])

    assert summarise_outcome(three_of_four).fragmented == 1
    assert summarise_outcome(one_of_four).fragmented == 0


def test_a_node_holds_a_part_of_a_job_that_is_wider_than_any():
    policy = POLICIES[0]
    jobs = table_of(Job(submit_s=at, run_s=10, devices=8) for at in (0, 100))

    outcome = simulate(jobs, equal_nodes(2, devices=4), policy)

    assert summarise_outcome(outcome).fragmented == 0
