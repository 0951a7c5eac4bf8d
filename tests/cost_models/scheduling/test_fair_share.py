import math

import pytest

from perfledger_cost_models.job_logs.table import Job, table_of
from perfledger_cost_models.scheduling.cluster import equal_nodes, read_cluster
from perfledger_cost_models.scheduling.fair_share import HALF_LIFE_MS, TeamShares
from perfledger_cost_models.scheduling.placement.free_devices import ResourceRequest
from perfledger_cost_models.scheduling.policy import (
    Backfill,
    FairShareRule,
    SchedulingPolicy,
)
from perfledger_cost_models.scheduling.simulation import simulate

REQUEST = ResourceRequest(devices=2, share_milli=1000, cpu_milli=1000, memory_mib=128, models=0)
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


def test_use_grows_with_the_devices_and_halves_in_a_week():
    shares = TeamShares(FairShareRule.FAIR, milli=8000, cpu=8000, memory=1024)
    began, ended = 1000, 1000 + HALF_LIFE_MS

    shares.take(7, REQUEST, began)
    at_first = shares.shares(began)[7]
    shares.give_back(7, REQUEST, ended)
    at_end, later = (shares.shares(now)[7] for now in (ended, ended + HALF_LIFE_MS))

    assert at_first == 0
    assert at_end == pytest.approx(2000 * HALF_LIFE_MS / math.log(2) / 2, rel=1e-12)
    assert later == pytest.approx(at_end / 2, rel=1e-12)


@pytest.mark.parametrize(
    ("request_", "share"),
    [
        (REQUEST, 0.25),
        (REQUEST._replace(share_milli=100, devices=1, cpu_milli=4000), 0.5),
        (REQUEST._replace(memory_mib=768), 0.75),
    ],
)
def test_the_dominant_share_is_that_of_the_resource_of_which_a_team_holds_most(request_, share):
    shares = TeamShares(FairShareRule.DOMINANT, milli=8000, cpu=8000, memory=1024)

    shares.take(1, request_, 0)
    held_share = shares.shares(0)
    shares.give_back(1, request_, 5)

    assert held_share == {1: share}
    assert shares.shares(5) == {1: 0.0}
