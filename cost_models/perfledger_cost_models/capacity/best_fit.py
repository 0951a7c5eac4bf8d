"""Finds the policy and the number of nodes whose replay is nearest to the recorded schedule."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from perfledger_cost_models.capacity.node_shape import (
    NodeShape,
    mean_devices,
    peak_devices,
    sustained_devices,
    widest_job,
)
from perfledger_cost_models.job_logs.table import JobLogError, JobTable
from perfledger_cost_models.scheduling.calibration import (
    FittedReplay,
    ReplayCalibration,
    calibration_of,
)
from perfledger_cost_models.scheduling.cluster import Cluster
from perfledger_cost_models.scheduling.device_time_accounting import NO_SAMPLES
from perfledger_cost_models.scheduling.policy import POLICIES, SchedulingPolicy
from perfledger_cost_models.scheduling.simulation import simulate

# What real schedulers do: the defaults of Slurm and Kubernetes, the simplest orders, and research
# policies.
CANDIDATES = tuple(
    policy
    for policy in POLICIES
    if policy.name in {"fifo", "fifo-pass", "easy", "sjf", "priority", "fair", "srtf"}
)
# Replays of these take ten times as long, so they are tried only for logs with up to this many
# jobs.
SLOW = frozenset({"fair", "srtf"})
MAX_SLOW_JOBS = 10_000  # larger logs are replayed only under policies that replay fast
# The cluster had hardly more devices than the most in use: a larger one has no queue and no waits.
MAX_NODES = 1.5
STEPS = 5  # halvings of the range of nodes


def candidates(jobs: JobTable) -> tuple[SchedulingPolicy, ...]:
    """Return the policies that may have scheduled a log.

    Those that order jobs by what all of them share are left out: each is the same as `fifo-pass`.
    """
    alike = set[str]()
    if len(set(jobs.priority.tolist())) == 1:
        alike.add("priority")
    if len(set(jobs.team.codes.tolist())) == 1:
        alike.add("fair")
    if len(jobs) > MAX_SLOW_JOBS:
        alike |= SLOW
    return tuple(policy for policy in CANDIDATES if policy.name not in alike)


def fitted_policy(
    jobs: JobTable, cluster: Cluster, policies: Sequence[SchedulingPolicy]
) -> SchedulingPolicy | None:
    """Return the policy whose replay on a cluster is nearest to the record; None without any."""
    fits = [
        (calibration.rank, index)
        for index, policy in enumerate(policies)
        if (calibration := _calibration(jobs, cluster, policy)) is not None
    ]
    return policies[min(fits)[1]] if fits else None


def recorded_nodes(jobs: JobTable, shape: NodeShape, fit: FittedReplay | None) -> int | None:
    """Return the nodes of the best fit, else those of the most devices in use at one moment.

    Returns None if the log records no starts.
    """
    peak = peak_devices(jobs)
    if fit is not None:
        return fit.nodes
    return None if peak is None else shape.fewest(peak)


def best_fit(
    jobs: JobTable,
    shape: NodeShape,
    policies: Sequence[SchedulingPolicy],
    *,
    stated_devices: int | None = None,
) -> FittedReplay | None:
    """Return the replay nearest to the record, with the number of nodes that fits it best.

    The number is searched from the most devices that the record shows in use at one moment, down to
    those in use for long, or to those that the log states if these are fewer: fewer could not have
    run its jobs. Its calibration has no intervals. Returns None if the log recorded too few starts
    or no waits.
    """
    peak = peak_devices(jobs)
    if peak is None:
        return None
    most = shape.fewest(peak)
    in_use = sustained_devices(jobs) or 0
    fewest = in_use if stated_devices is None else min(in_use, stated_devices)
    least = min(most, shape.fewest(max(widest_job(jobs), mean_devices(jobs), fewest)))
    fits = [fit for policy in policies for fit in _fits(jobs, shape, policy, least, most)]
    return min(fits, key=lambda fit: fit.calibration.rank, default=None)


def with_intervals(jobs: JobTable, fit: FittedReplay) -> FittedReplay:
    """Return a fit with the intervals of its calibration."""
    cluster = NodeShape(fit.devices_per_node).cluster(fit.nodes)
    calibration = calibration_of(simulate(jobs, cluster, fit.policy, samples=NO_SAMPLES))
    return fit if calibration is None else replace(fit, calibration=calibration)


def _fits(
    jobs: JobTable, shape: NodeShape, policy: SchedulingPolicy, least: int, most: int
) -> Iterator[FittedReplay]:
    """Yield replays, halving the range of nodes until waits match: fewer nodes mean longer ones."""

    def fit(nodes: int) -> FittedReplay | None:
        calibration = _calibration(jobs, shape.cluster(nodes), policy)
        if calibration is None or calibration.wait_mean is None:
            return None
        return FittedReplay(
            policy=policy, nodes=nodes, devices_per_node=shape.step, calibration=calibration
        )

    nodes, low, high = most, least - 1, round(most * MAX_NODES) + 1
    for _ in range(STEPS):
        nearest = fit(nodes)
        if nearest is None:
            return
        yield nearest
        low, high = (nodes, high) if _wait_ratio(nearest) > 1 else (low, nodes)
        if high - low <= 1:
            return
        nodes = (low + high) // 2


def _wait_ratio(fit: FittedReplay) -> float:
    ratio = fit.calibration.wait_mean
    return 1.0 if ratio is None else ratio.middle


def _calibration(
    jobs: JobTable, cluster: Cluster, policy: SchedulingPolicy
) -> ReplayCalibration | None:
    try:
        outcome = simulate(jobs, cluster, policy, samples=NO_SAMPLES)
    except JobLogError:  # no job fits
        return None
    return calibration_of(outcome, has_ends=False)
