"""Collects a quarter's measurements, from the store or from a folder of bundles."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from pathlib import Path

import msgspec
from sqlalchemy import Engine
from sqlmodel import Session

from perfledger.bundle import Bundle
from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine, Side, short_sha
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_cost_models.prices.accelerator_names import accelerator_of
from perfledger_cost_models.review.measured_changes import (
    LandedChange,
    MeasuredSpeed,
    QuarterRecords,
    RepositoryFleet,
)
from perfledger_cost_models.review.quarter import Quarter
from perfledger_runners.bundles.files import read_bundle
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.store.database import read_session
from perfledger_service.store.quarter_queries import (
    CHANGED_OUTCOMES,
    StoredChange,
    StoredSpeed,
    stored_quarter,
)
from perfledger_service.store.uploads import bundle_content
from perfledger_service.usecases.cost.change import registered_workloads
from perfledger_service.usecases.cost.work_rates import throughput, units_per_second
from perfledger_service.usecases.inputs.bundle_files import read_bundle_file
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.history_sources import MAX_BUNDLES, is_of_branch
from perfledger_service.usecases.inputs.stored_bundles import StoredWorkloads, read_fields
from perfledger_service.usecases.review.quarter_projections import (
    ProjectionTargets,
    projected_speeds,
)

# Newest bundles that are read completely for projections; that of a large check has megabytes.
MAX_PROJECTED = 50

_CLASS = re.compile(r"(?P<device>[a-z]+):(?P<model>.*):(?P<count>[1-9][0-9]*)")


class _ReviewedFields(StoredWorkloads, kw_only=True):
    work: tuple[msgspec.Raw, ...]


_MACHINE_DECODER = msgspec.json.Decoder(Machine)
_REVIEWED_FIELDS_DECODER = msgspec.json.Decoder(_ReviewedFields)


def records_of_store(
    engine: Engine, quarter: Quarter, *, origin: str, targets: ProjectionTargets | None = None
) -> QuarterRecords:
    """Return a quarter's records in the store; a speed's day is that of its measurement.

    The counted work of the newest MAX_PROJECTED bundles is projected onto `targets`, if given.
    """
    start, end = _bounds(quarter)
    with read_session(engine) as session:
        stored = stored_quarter(session, start=start, end=end)
        bundle_hashes = (
            *(one.bundle_sha256 for one in stored.speeds),
            *stored.newest.values(),
        )
        bundles = {
            sha256: read_fields(session, sha256, _REVIEWED_FIELDS_DECODER)
            for sha256 in dict.fromkeys(bundle_hashes)
        }
        speeds = _speeds(stored.speeds, bundles)
        projected = (
            ()
            if targets is None
            else projected_speeds(
                _counted_bundles(session, stored.speeds, speeds, bundles), speeds, targets
            )
        )
    return QuarterRecords(
        origin=origin,
        checks=stored.checks,
        observations=stored.observations,
        speeds=speeds,
        projections=projected,
        landed_changes=tuple(map(_landed_change, stored.changes)),
        pull_request_checks=stored.of_pull_requests,
        branch_checks=stored.of_branches,
        unattested_checks=stored.unattested,
        # Equal entries stay: pricing refuses them, as one may be a copy.
        fleets=tuple(
            RepositoryFleet(
                repository=repository,
                entries=bundles[sha256].pricing.fleet,
                registered=bundles[sha256].registered,
            )
            for repository, sha256 in stored.newest.items()
        ),
    )


def records_of_bundles(
    path: Path, quarter: Quarter, *, targets: ProjectionTargets | None = None
) -> QuarterRecords:
    """Return a quarter's records in a folder of bundles, or in one bundle, without imports.

    Counted work is projected onto `targets`, if given. Raises NotFoundError without any bundle,
    and UsageError for an unreadable one.
    """
    paths = [path]
    if path.is_dir():
        paths = sorted([*path.glob("*.json"), *path.glob("*.json.gz")])
    if not paths or len(paths) > MAX_BUNDLES:
        msg = f"{path} holds {len(paths)} bundles (*.json, *.json.gz): give 1 to {MAX_BUNDLES}"
        raise NotFoundError(msg)
    start, end = _bounds(quarter)
    named_bundles = ((one.name, read_bundle_file(one)) for one in paths)
    quarter_bundles = [
        (name, bundle)
        for name, bundle in named_bundles
        if not bundle.is_imported and start <= _moment(bundle, name) < end
    ]
    ordered = sorted(quarter_bundles, key=lambda each: each[1].created_at)
    branches = [each for each in ordered if is_of_branch(each[1])]
    newest = {bundle.repository: bundle for _, bundle in ordered}
    with translate_errors():
        landed = tuple(one for name, bundle in branches for one in _landed_changes(bundle, name))
    speeds = _bundle_speeds(ordered)
    named = dict(ordered)
    return QuarterRecords(
        origin=f"the folder {path.resolve().name}" if path.is_dir() else path.name,
        checks=len(ordered),
        observations=sum(_observations(bundle) for _, bundle in ordered),
        speeds=speeds,
        projections=()
        if targets is None
        else projected_speeds(((one, named[one.origin]) for one in speeds), speeds, targets),
        landed_changes=landed,
        pull_request_checks=len(ordered) - len(branches),
        branch_checks=len(branches),
        fleets=tuple(
            RepositoryFleet(
                repository=repository,
                entries=bundle.pricing.fleet,
                registered=registered_workloads(bundle),
            )
            for repository, bundle in newest.items()
        ),
    )


def _bounds(quarter: Quarter) -> tuple[datetime, datetime]:
    start, end = quarter.first, quarter.after.first
    return datetime.combine(start, time(), UTC), datetime.combine(end, time(), UTC)


def _moment(bundle: Bundle, name: str) -> datetime:
    moment = datetime.fromisoformat(bundle.created_at)
    if moment.tzinfo is None:
        msg = f"the bundle {name} has no time zone: it is not from perfledger"
        raise UsageError(msg)
    return moment


def _commit_day(bundle: Bundle, name: str) -> date:
    """Return the day of a bundle's head, or of its measurement if the commit has no date."""
    committed_at = bundle.head.committed_at
    return (
        datetime.fromisoformat(committed_at).date()
        if committed_at
        else _moment(bundle, name).date()
    )


def _counted_bundles(
    session: Session,
    stored: Sequence[StoredSpeed],
    speeds: Sequence[MeasuredSpeed],
    bundles: Mapping[str, _ReviewedFields],
) -> Iterator[tuple[MeasuredSpeed, Bundle]]:
    """Yield speeds with counted work and their bundle, newest first, one bundle in memory."""
    measured = {(one.workload, one.origin): one for one in speeds}
    counted = [one for one in stored if bundles[one.bundle_sha256].work]
    newest = sorted(counted, key=lambda one: one.measured_at, reverse=True)
    for sha256 in list(dict.fromkeys(one.bundle_sha256 for one in newest))[:MAX_PROJECTED]:
        bundle = read_bundle(bundle_content(session, sha256))
        for one in newest:
            speed = measured.get((one.workload, f"upload {one.upload_id}"))
            if one.bundle_sha256 == sha256 and speed is not None:
                yield speed, bundle


def _speeds(
    stored: Sequence[StoredSpeed], bundles: Mapping[str, _ReviewedFields]
) -> tuple[MeasuredSpeed, ...]:
    measured_speeds: list[MeasuredSpeed] = []
    for one in stored:
        specs = {spec.id: spec for spec in bundles[one.bundle_sha256].workloads}
        parts = _CLASS.fullmatch(one.machine_class)
        if one.workload not in specs or parts is None:
            continue
        machine = _MACHINE_DECODER.decode(one.machine)
        spec, model, count = specs[one.workload], parts["model"], int(parts["count"])
        is_whole = machine.model == model
        measured_speeds.append(
            MeasuredSpeed(
                repository=one.repository,
                workload=one.workload,
                unit=spec.unit,
                device=model,
                accelerator=accelerator_of(model, machine.memory_bytes if is_whole else None),
                units_per_second=units_per_second(spec.units_per_step, count, one.step_seconds),
                day=one.measured_at.date(),
                commit=short_sha(one.commit),
                origin=f"upload {one.upload_id}",
            )
        )
    return tuple(measured_speeds)


def _bundle_speeds(ordered: Sequence[tuple[str, Bundle]]) -> tuple[MeasuredSpeed, ...]:
    """Return the newest speed of each repository's workload and machine class."""
    speeds: dict[tuple[str, str, str], MeasuredSpeed] = {}
    for name, bundle in ordered:
        machines = bundle.machines()
        for spec in bundle.workloads:
            machine = machines.get((spec.id, Side.BASE), bundle.machine)
            speed = throughput(bundle, spec, devices=machine.count, side=Side.BASE)
            if speed is None:
                continue
            speeds[bundle.repository, spec.id, machine.machine_class] = MeasuredSpeed(
                repository=bundle.repository,
                workload=spec.id,
                unit=spec.unit,
                device=_model(machine),
                accelerator=accelerator_of(_model(machine), machine.memory_bytes),
                units_per_second=speed,
                day=_moment(bundle, name).date(),
                commit=short_sha(bundle.base.sha),
                origin=name,
            )
    return tuple(speeds[key] for key in sorted(speeds))


def _landed_change(stored: StoredChange) -> LandedChange:
    machine = _MACHINE_DECODER.decode(stored.machine)
    return LandedChange(
        repository=stored.repository,
        workload=stored.workload,
        commit=short_sha(stored.commit),
        subject=stored.subject,
        day=stored.committed_at.date(),
        device=machine.model,
        accelerator=accelerator_of(machine.model, machine.memory_bytes),
        change=stored.change,
        origin=f"upload {stored.upload_id}",
    )


def _landed_changes(bundle: Bundle, name: str) -> tuple[LandedChange, ...]:
    machines = bundle.machines()
    changes: list[LandedChange] = []
    for verdict in judge_bundle(bundle):
        estimate = verdict.estimate
        is_change = verdict.outcome in CHANGED_OUTCOMES and not verdict.is_warning
        if verdict.metric.name != STEP_TIME.name or not is_change or estimate is None:
            continue
        machine = machines[verdict.workload, Side.HEAD]
        changes.append(
            LandedChange(
                repository=bundle.repository,
                workload=verdict.workload,
                commit=short_sha(bundle.head.sha),
                subject=bundle.head.subject,
                day=_commit_day(bundle, name),
                device=_model(machine),
                accelerator=accelerator_of(_model(machine), machine.memory_bytes),
                change=(estimate.low, estimate.change, estimate.high),
                origin=name,
            )
        )
    return tuple(changes)


def _observations(bundle: Bundle) -> int:
    return len({(run.workload, run.side, metric) for run in bundle.runs for metric in run.samples})


def _model(machine: Machine) -> str:
    """Return the device's name, or the CPU's without an accelerator."""
    return machine.cpu_model or machine.model if machine.device is Device.CPU else machine.model
