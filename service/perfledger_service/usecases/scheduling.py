"""A job log's file and a cluster into what scheduling policies, and more devices, would change."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from perfledger_cost_models.arrivals import Arrivals, arrivals_of
from perfledger_cost_models.cluster import Cluster, equal_nodes, read_cluster
from perfledger_cost_models.filling import Filling, fill
from perfledger_cost_models.job_columns import LeftOut
from perfledger_cost_models.job_log import MAX_LOG_BYTES, JobLog, LogFormat, read_job_log
from perfledger_cost_models.jobs import JobLogError, Jobs
from perfledger_cost_models.meter import DAY_MS
from perfledger_cost_models.outcome import Outcome
from perfledger_cost_models.policy_gain import PolicyComparison, policy_rows, recorded
from perfledger_cost_models.quarter import Quarter
from perfledger_cost_models.quarter_jobs import quarter_jobs
from perfledger_cost_models.queue_plan import QueuePlan, Target, given_arrivals, queue_plan
from perfledger_cost_models.queueing import QueueError
from perfledger_cost_models.rates import rate_of
from perfledger_cost_models.reservation import Reservation
from perfledger_cost_models.scheduling import (
    POLICIES,
    Locality,
    Order,
    Passing,
    Placement,
    Policy,
    Preemption,
    Share,
    Sharing,
)
from perfledger_cost_models.sheet import PriceMissingError
from perfledger_cost_models.simulation import simulate
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.price_books import current_sheet
from perfledger_service.usecases.text_files import NamedBytes, read_text

MAX_SEEDS = 100
NAMED_TEAMS = 10  # in an error


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """The nodes that jobs run on: listed in a file, else alike."""

    file: Path | None
    nodes: int
    devices: int  # of a node


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What all policies of a comparison have in common; None leaves each policy its own."""

    placement: Placement | None
    locality: Locality
    sharing: Sharing
    reservations: tuple[Reservation, ...]
    seed: int
    turn_s: int | None = None
    checkpoint_s: int | None = None
    passing: Passing | None = None
    preemption: Preemption | None = None  # of policies that preempt


# Every policy as its name says, jobs on as few nodes as they fit on, on whole devices.
AS_NAMED = Setting(
    placement=None,
    locality=Locality.FEWEST,
    sharing=Sharing.EXACT,
    reservations=(),
    seed=0,
)


def compare_policies(
    file: NamedBytes,
    hardware: Hardware,
    names: Sequence[str],
    setting: Setting,
    *,
    format_: LogFormat | None,
    option: str | None,
    today: date,
    quarter: Quarter | None = None,
) -> PolicyComparison:
    """Replay a job log under each policy; the first is what the others are held against.

    Of a `quarter` only the jobs that were submitted in it are replayed, on empty nodes. `option`
    says where one more device-hour is bought. Raises UsageError, NotFoundError for a policy or a
    price that is not there, or for the cluster's file, TooLargeError.
    """
    policies = _policies(names, setting)
    log, cluster = _log(file, format_, quarter), _cluster(hardware)
    _check_teams(setting.reservations, log.jobs.team.names)
    try:
        rate = None if option is None else rate_of(current_sheet(), option, today=today)
        outcomes = [
            simulate(
                log.jobs,
                cluster,
                policy,
                reservations=setting.reservations,
                seed=setting.seed,
            )
            for policy in policies
        ]
    except PriceMissingError as error:
        raise NotFoundError(str(error)) from error
    except JobLogError as error:
        raise UsageError(str(error)) from error
    return PolicyComparison(
        log=file.name,
        jobs=len(outcomes[0].jobs),
        devices=cluster.total_devices,
        days=outcomes[0].until_ms / DAY_MS,
        left_out=_left_out(log, outcomes[0]),
        recorded=recorded(log.jobs, devices=cluster.total_devices),
        rows=policy_rows(outcomes),
        rate=rate,
        notes=tuple(_unsaid(policies, outcomes[0].jobs)),
    )


def _check_teams(reservations: Sequence[Reservation], teams: Sequence[str]) -> None:
    for each in reservations:
        if each.team not in teams:
            some = ", ".join(repr(team) for team in teams[:NAMED_TEAMS])
            msg = f"a reservation for {each.team!r}, of whom the log has no job: it has {some}"
            raise UsageError(msg)


def _unsaid(policies: Sequence[Policy], jobs: Jobs) -> Iterator[str]:
    """Yield what policies go by that is the same with all jobs."""
    urgent = [each.name for each in policies if each.order is Order.PRIORITY]
    if urgent and len(set(jobs.priority.tolist())) == 1:
        yield f"All jobs have the same priority: nothing comes first under {', '.join(urgent)}."
    shared = [each.name for each in policies if each.share is not Share.NONE]
    if shared and len(set(jobs.team.codes.tolist())) == 1:
        yield f"All jobs are one team's: there is nobody to share with under {', '.join(shared)}."


def _left_out(log: JobLog, outcome: Outcome) -> tuple[tuple[str, int], ...]:
    """Return what of a log was not replayed; what fits nowhere is the outcome's own figure."""
    ran = int((log.jobs.run_ms >= 0).sum())
    idle = ran - len(outcome.jobs) - outcome.unplaceable
    left_out = (*log.left_out, *(((LeftOut.NO_DEVICE, idle),) if idle else ()))
    return tuple((str(reason), count) for reason, count in left_out)


def fill_cluster(
    file: NamedBytes,
    hardware: Hardware,
    placements: Sequence[Placement],
    *,
    format_: LogFormat | None,
    load: float,
    seeds: int,
) -> tuple[Filling, ...]:
    """Fill an empty cluster with a log's jobs, by each placement policy and several seeds.

    Raises UsageError, NotFoundError, TooLargeError.
    """
    if not 1 <= seeds <= MAX_SEEDS:
        msg = f"{seeds} seeds: give 1 to {MAX_SEEDS}"
        raise UsageError(msg)
    log, cluster = _log(file, format_), _cluster(hardware)
    try:
        return tuple(
            fill(log.jobs, cluster, placement, load=load, seed=seed)
            for placement in placements
            for seed in range(seeds)
        )
    except JobLogError as error:
        raise UsageError(str(error)) from error


def plan_queue(
    file: NamedBytes | None,
    *,
    format_: LogFormat | None,
    per_hour: float | None,
    service_s: float | None,
    devices: int,
    target: Target | None,
) -> QueuePlan:
    """Return the waits of a log's arrivals, or of given ones, on so many devices.

    Raises UsageError.
    """
    try:
        return queue_plan(
            _arrivals(file, format_, per_hour, service_s), devices=devices, target=target
        )
    except (JobLogError, QueueError) as error:
        raise UsageError(str(error)) from error


def _arrivals(
    file: NamedBytes | None,
    format_: LogFormat | None,
    per_hour: float | None,
    service_s: float | None,
) -> Arrivals:
    if file is not None and per_hour is None and service_s is None:
        return arrivals_of(_log(file, format_).jobs)
    if file is None and per_hour is not None and service_s is not None:
        return given_arrivals(arrivals_per_s=per_hour / 3600, service_s=service_s)
    msg = "give a job log, or both --arrivals and --service"
    raise UsageError(msg)


def _policies(names: Sequence[str], setting: Setting) -> tuple[Policy, ...]:
    named = [_named(name) for name in names]
    if setting.preemption is not None and not any(map(_is_preempting, named)):
        others = ", ".join(policy.name for policy in POLICIES if _is_preempting(policy))
        msg = f"--preemption: none of the policies {', '.join(names)} preempts: add one of {others}"
        raise UsageError(msg)
    return tuple(_in_setting(policy, setting) for policy in named)


def _named(name: str) -> Policy:
    found = next((policy for policy in POLICIES if policy.name == name), None)
    if found is None:
        msg = f"no policy {name!r}: there are {', '.join(policy.name for policy in POLICIES)}"
        raise NotFoundError(msg)
    return found


def _is_preempting(policy: Policy) -> bool:
    return policy.preemption is not Preemption.NEVER


def _in_setting(found: Policy, setting: Setting) -> Policy:
    try:
        return replace(
            found,
            placement=setting.placement or found.placement,
            locality=setting.locality,
            sharing=setting.sharing,
            turn_s=found.turn_s if setting.turn_s is None else setting.turn_s,
            checkpoint_s=setting.checkpoint_s,
            passing=setting.passing or found.passing,
            preemption=(setting.preemption if _is_preempting(found) else None) or found.preemption,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error


def _log(file: NamedBytes, format_: LogFormat | None, quarter: Quarter | None = None) -> JobLog:
    try:
        log = read_job_log(file.text, format_=format_)
    except JobLogError as error:
        msg = f"{file.name}: {error}"
        raise UsageError(msg) from error
    if quarter is None:
        return log
    jobs = quarter_jobs(log.jobs, quarter)
    others = len(log.jobs) - len(jobs)
    left_out = ((LeftOut.OTHER_QUARTER, others),) if others else ()
    return replace(log, jobs=jobs, left_out=(*log.left_out, *left_out))


def _cluster(hardware: Hardware) -> Cluster:
    try:
        if hardware.file is None:
            return equal_nodes(hardware.nodes, devices=hardware.devices)
        return read_cluster(
            read_text(hardware.file, most_bytes=MAX_LOG_BYTES), devices=hardware.devices
        )
    except JobLogError as error:
        raise UsageError(str(error)) from error
