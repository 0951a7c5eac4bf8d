import heapq

import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.capacity.devices_needed import devices_needed, fewest_nodes
from perfledger_cost_models.capacity.node_shape import NodeShape
from perfledger_cost_models.job_logs.table import Job, table_of
from perfledger_cost_models.queueing.server_count import WaitTarget
from perfledger_cost_models.scheduling.policy import POLICIES

FIFO = POLICIES[0]
TARGET = WaitTarget(wait_s=600.0, share=0.9)


def random_jobs(count, *, seed, gap_s=300.0):
    rng = np.random.default_rng(seed)
    at = np.cumsum(rng.exponential(gap_s, count)).round()
    run = rng.lognormal(7, 1, count).round()
    return list(zip(at.tolist(), run.tolist(), strict=True))


def log_of(rows, devices=1):
    return table_of(Job(submit_s=at, run_s=run, devices=devices) for at, run in rows)


def share_within(rows, servers, wait_s):
    """Replay single devices in order of arrival by themselves: a heap of free moments."""
    free = [0.0] * servers
    met = 0
    for at, run in rows:
        start = max(at, heapq.heappop(free))
        met += start - at <= wait_s
        heapq.heappush(free, start + run)
    return met / len(rows)


@given(st.integers(1, 200), st.integers(1, 200), st.integers(1, 200), st.integers(1, 20))
def test_the_fewest_nodes_are_found_from_anywhere(answer, first, most, least):
    found_fewest_nodes = fewest_nodes(
        lambda nodes: nodes >= answer, first=first, most=max(most, least), least=least
    )

    expected = max(answer, least)
    assert found_fewest_nodes == (expected if expected <= max(most, least) else None)


@pytest.mark.slow
def test_the_devices_are_those_of_a_replay_of_ones_own():
    rows = random_jobs(1500, seed=2)

    needed = devices_needed(log_of(rows), NodeShape(None), FIFO, TARGET)

    assert needed.devices is not None
    assert share_within(rows, needed.devices, 600.0) >= 0.9
    assert share_within(rows, needed.devices - 1, 600.0) < 0.9


@pytest.mark.slow(ci_only=True)
def test_resampled_logs_need_about_as_many():
    needed = devices_needed(log_of(random_jobs(2000, seed=4)), NodeShape(None), FIFO, TARGET)

    assert needed.devices is not None
    assert needed.low is not None
    assert needed.high is not None
    assert needed.low <= needed.devices <= needed.high
    assert needed.logs == 20


def test_a_short_log_has_no_interval_and_gangs_come_in_nodes():
    needed = devices_needed(
        log_of([(0.0, 100.0), (0.0, 100.0), (1.0, 100.0)], devices=4),
        NodeShape(4),
        FIFO,
        WaitTarget(wait_s=10.0, share=0.95),
    )

    assert (needed.devices, needed.low, needed.high, needed.logs) == (12, None, None, 0)


def test_a_drawn_log_without_jobs_needs_no_device():
    """Two of ninety days have jobs: left out, such logs would hide how little may come."""
    day = 86_400.0
    rows = [(0.0, 100.0), (89 * day, 100.0)]

    needed = devices_needed(log_of(rows, devices=8), NodeShape(8), FIFO, TARGET)

    assert (needed.devices, needed.low, needed.logs) == (8, 0, 20)


def test_many_random_jobs_need_a_known_number_of_devices():
    rows = random_jobs(300, seed=2)

    needed = devices_needed(log_of(rows), NodeShape(None), FIFO, TARGET)

    assert needed.devices is not None
    assert share_within(rows, needed.devices, 600.0) >= 0.9
    assert share_within(rows, needed.devices - 1, 600.0) < 0.9
