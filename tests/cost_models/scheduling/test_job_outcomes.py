from dataclasses import replace

import pytest

from perfledger_cost_models.job_logs.table import Job, table_of
from perfledger_cost_models.scheduling.cluster import equal_nodes, read_cluster
from perfledger_cost_models.scheduling.job_outcomes import summarise_outcome
from perfledger_cost_models.scheduling.policy import (
    POLICIES,
    DeviceSharing,
    JobOrder,
    Locality,
    PlacementPolicy,
    Preemption,
    SchedulingPolicy,
)
from perfledger_cost_models.scheduling.policy_intervals import policy_intervals
from perfledger_cost_models.scheduling.reservations import Reservation
from perfledger_cost_models.scheduling.simulation import simulate
from tests.cost_models.example_job_mix import NODES, example_log


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
    found_policy_intervals = policy_intervals(replayed([(0, 10, 1, 0)]))

    assert found_policy_intervals.useful is None
    assert found_policy_intervals.fragmented is None


def figures(outcome):
    """Return waits, slowdown, useful and fragmented shares, idle hours and preemptions."""
    policy_summary = summarise_outcome(outcome)
    assert policy_summary.useful is not None
    assert policy_summary.fragmented is not None
    return (
        round(policy_summary.wait_mean_s, 1),
        round(policy_summary.wait_p95_s, 1),
        round(policy_summary.slowdown_mean, 4),
        round(policy_summary.useful, 5),
        round(policy_summary.fragmented, 5),
        round(policy_summary.wanted_idle_hours, 3),
        policy_summary.preemptions,
    )


TIME_SLICE = SchedulingPolicy(
    name="time-slice", order=JobOrder.TIME_SLICE, preemption=Preemption.CHECKPOINT, quantum_s=10_800
)
KNOWN = {policy.name: policy for policy in POLICIES} | {"time-slice": TIME_SLICE}
PASSING = KNOWN["fifo-pass"]


@pytest.mark.parametrize(
    ("name", "mixed", "ordinary"),
    [
        (
            "fifo",
            (144102.0, 309107.8, 211.5652, 0.588, 0.32928, 1467.022, 0),
            (230309.9, 446827.0, 326.0775, 0.72102, 0.25491, 894.355, 0),
        ),
        (
            "fifo-pass",
            (44041.5, 219948.4, 67.7219, 0.73247, 0.36201, 836.306, 0),
            (76809.6, 354631.0, 102.1682, 0.86095, 0.33888, 218.576, 0),
        ),
        (
            "easy",
            (57614.2, 215353.9, 66.829, 0.68569, 0.32467, 845.856, 0),
            (87253.5, 315149.8, 80.4059, 0.87267, 0.24745, 231.458, 0),
        ),
        (
            "sjf",
            (49116.7, 245677.8, 10.777, 0.63484, 0.3419, 1088.855, 0),
            (77485.9, 406863.6, 7.4834, 0.80353, 0.23101, 505.56, 0),
        ),
        (
            "srtf",
            (18681.2, 140175.8, 1.298, 0.74237, 0.38163, 597.346, 60),
            (34688.6, 317389.5, 1.5536, 0.91252, 0.27755, 142.521, 120),
        ),
        (
            "srsf",
            (27833.8, 224996.1, 1.6823, 0.63691, 0.33579, 1189.006, 37),
            (43184.2, 337781.0, 1.8545, 0.78043, 0.34513, 368.882, 58),
        ),
        (
            "fair",
            (33251.2, 198839.8, 48.305, 0.74499, 0.33959, 561.433, 0),
            (78203.3, 383650.1, 88.8515, 0.90534, 0.32058, 176.523, 0),
        ),
        (
            "drf",
            (33398.3, 141721.0, 48.7945, 0.75698, 0.34171, 697.269, 0),
            (70914.4, 387106.2, 90.0658, 0.90501, 0.30677, 155.203, 0),
        ),
        (
            "priority",
            (41080.3, 218591.6, 57.5265, 0.75089, 0.35807, 844.069, 0),
            (81235.6, 412877.9, 90.4593, 0.83975, 0.34832, 264.218, 0),
        ),
        (
            "priority-preempt",
            (66180.6, 402073.4, 63.0914, 0.63401, 0.39657, 804.314, 42),
            (163823.8, 565243.6, 99.079, 0.78004, 0.1865, 105.162, 98),
        ),
        (
            "time-slice",
            (76844.5, 228817.4, 44.3247, 0.72207, 0.34861, 808.709, 168),
            (168785.1, 437444.1, 81.6165, 0.82668, 0.22168, 455.709, 217),
        ),
    ],
)
def test_a_replay_of_an_example_has_known_figures(name, mixed, ordinary):
    """So that a change of any rule shows; other tests say what is right."""
    nodes = read_cluster(NODES, devices=4)

    assert figures(simulate(example_log(), nodes, KNOWN[name])) == pytest.approx(mixed)
    four = equal_nodes(4, devices=4)
    assert figures(simulate(example_log(is_plain=True), four, KNOWN[name])) == pytest.approx(
        ordinary
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"placement": PlacementPolicy.FIRST_FIT},
            (44181.9, 219948.4, 67.7783, 0.73247, 0.37349, 836.306, 0),
        ),
        (
            {"placement": PlacementPolicy.BEST_FIT},
            (44041.5, 219948.4, 67.7219, 0.73247, 0.36201, 836.306, 0),
        ),
        (
            {"placement": PlacementPolicy.WORST_FIT},
            (64904.9, 339628.4, 113.3048, 0.64241, 0.38986, 1227.607, 0),
        ),
        (
            {"placement": PlacementPolicy.RANDOM},
            (58033.7, 253505.8, 88.5088, 0.6879, 0.40801, 1040.307, 0),
        ),
        (
            {"placement": PlacementPolicy.PACKING},
            (55587.6, 292333.4, 100.1307, 0.68985, 0.34905, 1009.682, 0),
        ),
        (
            {"placement": PlacementPolicy.CLUSTERING},
            (51414.3, 222023.4, 83.974, 0.72866, 0.38172, 904.047, 0),
        ),
        (
            {"placement": PlacementPolicy.DOT_PRODUCT},
            (44041.5, 219948.4, 67.7219, 0.73247, 0.36201, 836.306, 0),
        ),
        (
            {"placement": PlacementPolicy.FRAGMENTATION},
            (44378.5, 222023.4, 68.1504, 0.73047, 0.36155, 843.222, 0),
        ),
        ({"locality": Locality.ANY}, (32429.8, 164143.4, 44.0834, 0.78766, 0.37038, 330.864, 0)),
        (
            {"sharing": DeviceSharing.WHOLE},
            (49438.4, 219948.4, 82.449, 0.7423, 0.30076, 791.909, 0),
        ),
        ({"sharing": DeviceSharing.MIG}, (44041.5, 219948.4, 67.7219, 0.7348, 0.33976, 809.266, 0)),
        (
            {"order": JobOrder.PRIORITY, "preemption": Preemption.MIGRATION},
            (39652.9, 229857.6, 39.5969, 0.82381, 0.37921, 423.432, 124),
        ),
    ],
)
def test_each_choice_of_nodes_and_shares_has_known_figures(changes, expected):
    policy = replace(PASSING, **changes)

    job_outcomes = simulate(example_log(), read_cluster(NODES, devices=4), policy, seed=3)

    assert figures(job_outcomes) == pytest.approx(expected)


def test_a_replay_under_reservations_has_known_figures():
    reserved = [
        Reservation(team=team, nodes=nodes, start_ms=start, end_ms=end)
        for team, nodes, start, end in (
            ("a", 1, 36_000_000, 108_000_000),
            ("nobody", 2, 150_000_000, 160_000_000),
        )
    ]

    job_outcomes = simulate(
        example_log(), read_cluster(NODES, devices=4), PASSING, reservations=reserved
    )

    assert figures(job_outcomes) == pytest.approx(
        (53036.8, 236129.1, 64.1357, 0.68474, 0.27774, 1011.393, 0)
    )
