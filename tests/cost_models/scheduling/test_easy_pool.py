"""Tests of EASY backfill in a pool of equal nodes.

`test_equal_nodes.py` compares it with the event loop.
"""

import numpy as np
import pytest

from perfledger_cost_models.job_logs.table import Job, table_of
from perfledger_cost_models.scheduling.cluster import equal_nodes
from perfledger_cost_models.scheduling.easy_pool import EasyPool
from perfledger_cost_models.scheduling.policy import POLICIES

(EASY,) = (policy for policy in POLICIES if policy.name == "easy")


def starts_of(*jobs, devices=4):
    """Return when jobs of (submission, run time, devices, time limit) start on one node, in s."""
    log = table_of(
        Job(submit_s=submit, run_s=run, devices=count, limit_s=limit)
        for submit, run, count, limit in jobs
    )
    cluster = equal_nodes(1, devices=devices)
    pool = EasyPool(log, cluster, np.arange(1), EASY, until_ms=10**6, samples=0)
    pool.run()
    return (pool.start_ms // 1000).tolist()


def test_a_job_passes_the_first_one_only_if_it_ends_before_its_reservation_or_takes_what_is_spare():
    first, head = (0, 100, 3, None), (1, 50, 4, None)

    assert starts_of(first, head, (2, 98, 1, None)) == [0, 100, 2]
    assert starts_of(first, head, (2, 99, 1, None)) == [0, 100, 150]
    assert starts_of(first, (1, 50, 3, None), (2, 500, 1, None)) == [0, 100, 2]


def test_the_reservation_counts_time_limits_and_moves_up_where_a_job_ends_before_its_own():
    first, head = (0, 100, 3, 1000.0), (1, 50, 4, 50.0)

    assert starts_of(first, head, (2, 400, 1, 900.0)) == [0, 402, 2]
    assert starts_of(first, head, (2, 10, 1, 999.0)) == [0, 100, 150]
    # At 100 s the first job has ended early: what waits may not take the head's devices any more.
    assert starts_of(first, head, (101, 10, 1, 10.0)) == [0, 100, 150]


def test_what_a_longer_job_takes_beside_the_reservation_is_not_spare_for_the_next_one():
    first, head = (0, 100, 4, None), (1, 50, 4, None)

    assert starts_of(first, head, (2, 500, 2, None), (3, 500, 2, None), devices=8) == [0, 1, 51, 51]
    assert starts_of(first, (1, 50, 6, None), (2, 500, 2, None), (3, 500, 2, None), devices=8) == [
        0,
        100,
        2,
        150,
    ]


@pytest.mark.parametrize("time_limit", [None, 40.0])
def test_jobs_that_come_at_once_start_in_their_order(time_limit):
    jobs = [(0, 40, 2, time_limit)] * 2 + [(0, 40, 4, time_limit)] + [(0, 40, 1, time_limit)] * 2

    assert starts_of(*((submit + n / 10**6, *rest) for n, (submit, *rest) in enumerate(jobs))) == [
        0,
        0,
        40,
        80,
        80,
    ]
