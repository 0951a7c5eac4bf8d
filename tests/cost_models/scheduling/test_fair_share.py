import pytest

from perfledger_cost_models.job_logs.job_table import Job, table_of
from perfledger_cost_models.scheduling.cluster import equal_nodes, read_cluster
from perfledger_cost_models.scheduling.policy import (
    Backfill,
    FairShareRule,
    SchedulingPolicy,
)
from perfledger_cost_models.scheduling.simulation import simulate

ONE_NODE = equal_nodes(1, devices=4)


def jobs_of(*rows):
    """Return jobs of (submit, run, devices) with any other fields behind, in seconds."""
    return table_of(
        Job(submit_s=submit, run_s=run, devices=devices, **more)
        for submit, run, devices, more in rows
    )


def starts(outcome):
    return (outcome.start_ms / 1000).tolist()


@pytest.mark.parametrize("share", [FairShareRule.FAIR, FairShareRule.DOMINANT])
def test_a_team_that_holds_nothing_is_next(share):
    policy = SchedulingPolicy(name="shared", share=share)
    jobs = jobs_of(
        (0, 10, 2, {"team": "a"}),
        (0, 20, 2, {"team": "a"}),
        (1, 10, 2, {"team": "a"}),
        (2, 10, 2, {"team": "b"}),
    )

    assert starts(simulate(jobs, ONE_NODE, policy)) == [0, 0, 20, 10]


def test_dominant_share_counts_processors_too():
    policy = SchedulingPolicy(name="drf", share=FairShareRule.DOMINANT, backfill=Backfill.ALWAYS)
    cluster = read_cluster("gpu,cpu_milli\n4,8000\n", devices=4)
    jobs = jobs_of(
        (0, 50, 1, {"team": "processors", "cpu_milli": 6000}),
        (0, 50, 2, {"team": "devices", "cpu_milli": 1000}),
        (0, 10, 1, {"team": "others", "cpu_milli": 1000}),
        (1, 10, 1, {"team": "processors", "cpu_milli": 1000}),
        (2, 10, 1, {"team": "devices", "cpu_milli": 1000}),
    )

    assert starts(simulate(jobs, cluster, policy)) == [0, 0, 0, 20, 10]
