"""Replays a job log on a cluster under scheduling policies."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from perfledger_cost_models.capacity.best_fit import (
    best_fit,
    candidates,
    recorded_nodes,
    with_intervals,
)
from perfledger_cost_models.capacity.node_shape import (
    NodeShape,
    peak_devices,
    recorded_devices,
    uncounted_reason,
)
from perfledger_cost_models.job_logs.csv_rows import SkipReason
from perfledger_cost_models.job_logs.formats import LogFormat
from perfledger_cost_models.job_logs.readers import MAX_LOG_BYTES, JobLog
from perfledger_cost_models.job_logs.table import JobTable
from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.review.quarter import Quarter
from perfledger_cost_models.scheduling.calibration import FittedReplay, ReplayCalibration
from perfledger_cost_models.scheduling.cluster import Cluster, equal_nodes, read_cluster
from perfledger_cost_models.scheduling.job_outcomes import JobOutcomes
from perfledger_cost_models.scheduling.policy import (
    POLICIES,
    Backfill,
    DeviceSharing,
    FairShareRule,
    JobOrder,
    Locality,
    PlacementPolicy,
    Preemption,
    SchedulingPolicy,
)
from perfledger_cost_models.scheduling.policy_comparison import (
    PolicyComparison,
    policy_gains,
    recorded_waiting,
)
from perfledger_cost_models.scheduling.reservations import Reservation
from perfledger_cost_models.scheduling.simulation import simulate
from perfledger_cost_models.units import MS_PER_DAY
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import NamedBytes, errors_about, read_text
from perfledger_service.usecases.plan.job_logs import job_log_of

NAMED_TEAMS = 10  # in an error


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNodes:
    """The nodes that jobs run on: listed in a file, or identical."""

    file: Path | None
    nodes: int | None  # None: as the log's record shows
    devices: int  # of a node


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationSettings:
    """Settings for all policies of a comparison; None leaves each policy its own."""

    placement: PlacementPolicy | None
    locality: Locality
    sharing: DeviceSharing
    reservations: tuple[Reservation, ...]
    seed: int
    quantum_s: int | None = None
    checkpoint_s: int | None = None
    backfill: Backfill | None = None
    preemption: Preemption | None = None  # of policies that preempt


# Each policy keeps its settings; jobs take as few nodes as possible, on whole devices.
DEFAULT_SETTINGS = SimulationSettings(
    placement=None, locality=Locality.FEWEST, sharing=DeviceSharing.EXACT, reservations=(), seed=0
)


@translate_errors()
def compare_policies(
    file: NamedBytes,
    hardware: ClusterNodes,
    names: Sequence[str],
    settings: SimulationSettings,
    *,
    format_: LogFormat | None,
    rate: HourlyRate | None,
    quarter: Quarter | None = None,
) -> PolicyComparison:
    """Replay a job log under each policy; the first policy is the reference.

    With a `quarter` only the jobs submitted in it are replayed, on empty nodes. `rate` prices an
    additional device-hour. Raises UsageError, TooLargeError, and NotFoundError for an unknown
    policy or file.
    """
    policies = _policies(names, settings)
    log = job_log_of(file, format_, quarter)
    fit = cache(partial(_best_fit, log, hardware))
    inferred = _inferred_nodes(log.jobs, hardware, fit)
    cluster = _cluster(hardware, inferred)
    _check_teams(settings.reservations, log.jobs.team.names)
    outcomes = [
        simulate(log.jobs, cluster, policy, reservations=settings.reservations, seed=settings.seed)
        for policy in policies
    ]
    rows = policy_gains(outcomes)
    recorded = recorded_devices(log.jobs, stated=log.stated_devices, replayed=cluster.total_devices)
    return PolicyComparison(
        log=file.name,
        jobs=len(outcomes[0].jobs),
        devices=cluster.total_devices,
        peak_devices=peak_devices(log.jobs),
        stated_devices=log.stated_devices,
        days=outcomes[0].until_ms / MS_PER_DAY,
        left_out=_left_out(log, outcomes[0]),
        recorded_devices=recorded,
        recorded_waiting=recorded_waiting(log.jobs, devices=recorded),
        rows=rows,
        rate=rate,
        notes=tuple(_equal_job_notes(policies, outcomes[0].jobs)),
        inferred_nodes=inferred,
        cut_jobs=log.jobs.cut_jobs,
        gaps=log.gaps,
        nearest=_nearest(log.jobs, hardware, rows[0].calibration, fit),
    )


def _check_teams(reservations: Sequence[Reservation], teams: Sequence[str]) -> None:
    for each in reservations:
        if each.team not in teams:
            some = ", ".join(repr(team) for team in teams[:NAMED_TEAMS])
            msg = (
                f"the log has no job of team {each.team!r}, which has a reservation: it has {some}"
            )
            raise UsageError(msg)


def _equal_job_notes(policies: Sequence[SchedulingPolicy], jobs: JobTable) -> Iterator[str]:
    """Yield notes on properties that policies use but that all jobs share."""
    urgent = [each.name for each in policies if each.order is JobOrder.PRIORITY]
    if urgent and len(set(jobs.priority.tolist())) == 1:
        yield f"All jobs have the same priority, so {', '.join(urgent)} cannot order them by it."
    shared = [each.name for each in policies if each.share is not FairShareRule.NONE]
    if shared and len(set(jobs.team.codes.tolist())) == 1:
        yield f"All jobs are of one team, so {', '.join(shared)} cannot share between teams."


def _left_out(log: JobLog, outcome: JobOutcomes) -> tuple[tuple[str, int], ...]:
    """Return the jobs that were not replayed, by reason, except those that fit nowhere."""
    ran = int((log.jobs.run_ms >= 0).sum())
    idle = ran - len(outcome.jobs) - outcome.unplaceable
    left_out = (*log.left_out, *(((SkipReason.NO_DEVICE, idle),) if idle else ()))
    return tuple((str(reason), count) for reason, count in left_out)


def _policies(names: Sequence[str], settings: SimulationSettings) -> tuple[SchedulingPolicy, ...]:
    policies = [policy_named(name) for name in names]
    if settings.preemption is not None and not any(map(_is_preempting, policies)):
        preempting = ", ".join(policy.name for policy in POLICIES if _is_preempting(policy))
        msg = f"--preemption: no policy of {', '.join(names)} preempts: add one of {preempting}"
        raise UsageError(msg)
    return tuple(_apply_settings(policy, settings) for policy in policies)


def policy_named(name: str) -> SchedulingPolicy:
    """Return a policy with its settings; raise NotFoundError."""
    match = next((policy for policy in POLICIES if policy.name == name), None)
    if match is None:
        msg = f"no policy {name!r}: there are {', '.join(policy.name for policy in POLICIES)}"
        raise NotFoundError(msg)
    return match


def _is_preempting(policy: SchedulingPolicy) -> bool:
    return policy.preemption is not Preemption.NEVER


def _apply_settings(policy: SchedulingPolicy, settings: SimulationSettings) -> SchedulingPolicy:
    try:
        return replace(
            policy,
            placement=settings.placement or policy.placement,
            locality=settings.locality,
            sharing=settings.sharing,
            quantum_s=policy.quantum_s if settings.quantum_s is None else settings.quantum_s,
            checkpoint_s=settings.checkpoint_s,
            backfill=settings.backfill or policy.backfill,
            preemption=(settings.preemption if _is_preempting(policy) else None)
            or policy.preemption,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error


def _best_fit(log: JobLog, hardware: ClusterNodes) -> FittedReplay | None:
    shape, policies = NodeShape(hardware.devices), candidates(log.jobs)
    return best_fit(log.jobs, shape, policies, stated_devices=log.stated_devices)


def _inferred_nodes(
    jobs: JobTable, hardware: ClusterNodes, fit: Callable[[], FittedReplay | None]
) -> int | None:
    """Return the nodes that the record shows; None if nodes are given. Raise UsageError."""
    if hardware.file is not None or hardware.nodes is not None:
        return None
    nodes = recorded_nodes(jobs, NodeShape(hardware.devices), fit())
    if nodes is None:
        msg = f"{uncounted_reason(jobs)}: give --nodes"
        raise UsageError(msg)
    return nodes


def _nearest(
    jobs: JobTable,
    hardware: ClusterNodes,
    calibration: ReplayCalibration | None,
    fit: Callable[[], FittedReplay | None],
) -> FittedReplay | None:
    """Return the best fit to the record, if the reference does not fit and nodes are identical."""
    if hardware.file is not None or calibration is None or calibration.is_calibrated:
        return None
    nearest = fit()
    return None if nearest is None else with_intervals(jobs, nearest)


def _cluster(hardware: ClusterNodes, inferred: int | None) -> Cluster:
    if hardware.file is None:
        nodes = hardware.nodes if inferred is None else inferred
        return equal_nodes(nodes or 0, devices=hardware.devices)
    with errors_about(hardware.file):
        text = read_text(hardware.file, most_bytes=MAX_LOG_BYTES)
        return read_cluster(text, devices=hardware.devices)
