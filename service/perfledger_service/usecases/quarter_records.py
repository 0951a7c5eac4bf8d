"""A quarter's uploads, or a folder of bundles, into what its checks measured."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, time
from pathlib import Path

import msgspec
from sqlalchemy import Engine
from sqlmodel import Session

from perfledger.bundle import Bundle, FleetUse
from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine, Side
from perfledger_baselines.judge import judge_bundle
from perfledger_baselines.typical import typical_range
from perfledger_cost_models.accelerator import accelerator_of
from perfledger_cost_models.quarter import Quarter
from perfledger_cost_models.review_records import Landed, MeasuredSpeed, Records
from perfledger_runners.bundles import read_bundle, unpack
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.store.database import reading
from perfledger_service.store.quarters import (
    CHANGED,
    StoredChange,
    StoredSpeed,
    stored_quarter,
)
from perfledger_service.store.uploads import bundle_content
from perfledger_service.usecases.bundles import read
from perfledger_service.usecases.histories import is_of_branch
from perfledger_service.usecases.quarter_projections import (
    Elsewhere,
    projected_speeds,
)
from perfledger_service.usecases.translating import translated

SHOWN_SHA = 12
MAX_BUNDLES = 10_000
# Bundles that are read whole to be projected, the newest first: one of a large check has megabytes.
MAX_PROJECTED = 50

_CLASS = re.compile(r"(?P<device>[a-z]+):(?P<model>.*):(?P<count>[1-9][0-9]*)")


class _Revision(msgspec.Struct):
    is_dirty: bool = False


class _Spec(msgspec.Struct):
    id: str
    unit: str = "steps"
    units_per_step: float = 1.0


class _Use(msgspec.Struct):
    workload: str
    where: str
    device_hours_per_year: float
    low: float | None = None
    high: float | None = None
    source: str = ""


class _Pricing(msgspec.Struct):
    fleet: tuple[_Use, ...] = ()


class _Head(msgspec.Struct):
    """As much of a stored bundle as a review reads; the rest is skipped and never built."""

    head: _Revision
    workloads: tuple[_Spec, ...]
    pricing: _Pricing = msgspec.field(default_factory=_Pricing)
    work: tuple[msgspec.Raw, ...] = ()


class _Memory(msgspec.Struct):
    model: str = ""
    memory_bytes: int | None = None


def records_of_store(
    engine: Engine, quarter: Quarter, *, origin: str, elsewhere: Elsewhere | None = None
) -> Records:
    """Return what the store holds of a quarter; a check's day is that of its upload.

    What the newest MAX_PROJECTED bundles counted is projected `elsewhere`, if that is asked for.
    """
    start, end = _bounds(quarter)
    with reading(engine) as session:
        found = stored_quarter(session, start=start, end=end)
        wanted = (
            *(one.bundle_sha256 for one in found.speeds),
            *(one.bundle_sha256 for one in found.changes),
            *found.newest,
        )
        heads = {sha256: _head(session, sha256) for sha256 in dict.fromkeys(wanted)}
        speeds = _speeds(found.speeds, heads)
        projected = (
            ()
            if elsewhere is None
            else projected_speeds(_whole(session, found.speeds, speeds, heads), speeds, elsewhere)
        )
    return Records(
        origin=origin,
        checks=found.of_branches + found.of_pull_requests,
        observations=found.observations,
        speeds=speeds,
        projected=projected,
        landed=tuple(
            _landed(one) for one in found.changes if not heads[one.bundle_sha256].head.is_dirty
        ),
        of_pull_requests=found.of_pull_requests,
        of_branches=found.of_branches,
        fleet=_distinct(
            FleetUse(**msgspec.structs.asdict(use))
            for sha256 in found.newest
            for use in heads[sha256].pricing.fleet
        ),
    )


def records_of_bundles(
    path: Path, quarter: Quarter, *, elsewhere: Elsewhere | None = None
) -> Records:
    """Return what the bundles of a folder, or one bundle, measured in a quarter.

    What was counted is projected `elsewhere`, if that is asked for. Raises NotFoundError without
    any, and UsageError for one that cannot be read.
    """
    paths = [path]
    if path.is_dir():
        paths = sorted([*path.glob("*.json"), *path.glob("*.json.gz")])
    if not paths or len(paths) > MAX_BUNDLES:
        msg = f"{path} holds {len(paths)} bundles (*.json, *.json.gz): give 1 to {MAX_BUNDLES}"
        raise NotFoundError(msg)
    start, end = _bounds(quarter)
    given = ((one.name, read(one)) for one in paths)
    kept = [(name, bundle) for name, bundle in given if start <= _moment(bundle, name) < end]
    ordered = sorted(kept, key=lambda each: each[1].created_at)
    branches = [each for each in ordered if is_of_branch(each[1])]
    newest = {bundle.repository: bundle for _, bundle in ordered}
    with translated():
        landed = tuple(one for name, bundle in branches for one in _landed_in(bundle, name))
    speeds = _bundle_speeds(ordered)
    named = dict(ordered)
    return Records(
        origin=f"the bundles in {path.name}",
        checks=len(ordered),
        observations=sum(_observations(bundle) for _, bundle in ordered),
        speeds=speeds,
        projected=()
        if elsewhere is None
        else projected_speeds(((one, named[one.origin]) for one in speeds), speeds, elsewhere),
        landed=landed,
        of_pull_requests=len(ordered) - len(branches),
        of_branches=len(branches),
        fleet=_distinct(use for bundle in newest.values() for use in bundle.pricing.fleet),
    )


def _bounds(quarter: Quarter) -> tuple[datetime, datetime]:
    start, end = quarter.first, quarter.after.first
    return datetime.combine(start, time(), UTC), datetime.combine(end, time(), UTC)


def _moment(bundle: Bundle, name: str) -> datetime:
    moment = datetime.fromisoformat(bundle.created_at)
    if moment.tzinfo is None:
        msg = f"the bundle {name} says no time zone: it is none of ours"
        raise UsageError(msg)
    return moment


def _head(session: Session, sha256: str) -> _Head:
    # It was checked whole when it was uploaded.
    return msgspec.json.decode(unpack(bundle_content(session, sha256)), type=_Head)


def _whole(
    session: Session,
    stored: Sequence[StoredSpeed],
    speeds: Sequence[MeasuredSpeed],
    heads: Mapping[str, _Head],
) -> Iterator[tuple[MeasuredSpeed, Bundle]]:
    """Yield what was counted with its bundle, one bundle in memory at a time, the newest first."""
    measured = {(one.workload, one.origin): one for one in speeds}
    counted = [one for one in stored if heads[one.bundle_sha256].work]
    newest = sorted(counted, key=lambda one: one.created_at, reverse=True)
    for sha256 in list(dict.fromkeys(one.bundle_sha256 for one in newest))[:MAX_PROJECTED]:
        bundle = read_bundle(bundle_content(session, sha256))
        for one in newest:
            speed = measured.get((one.workload, f"upload {one.upload_id}"))
            if one.bundle_sha256 == sha256 and speed is not None:
                yield speed, bundle


def _distinct(uses: Iterable[FleetUse]) -> tuple[FleetUse, ...]:
    return tuple(dict.fromkeys(uses))


def _speeds(stored: Sequence[StoredSpeed], heads: Mapping[str, _Head]) -> tuple[MeasuredSpeed, ...]:
    found: list[MeasuredSpeed] = []
    for one in stored:
        specs = {spec.id: spec for spec in heads[one.bundle_sha256].workloads}
        parts = _CLASS.fullmatch(one.device_class)
        if one.workload not in specs or parts is None:
            continue
        memory = msgspec.json.decode(one.machine, type=_Memory)
        spec, model, count = specs[one.workload], parts["model"], int(parts["count"])
        is_whole = memory.model == model
        found.append(
            MeasuredSpeed(
                workload=one.workload,
                unit=spec.unit,
                device=model,
                accelerator=accelerator_of(model, memory.memory_bytes if is_whole else None),
                units_per_second=_rate(spec.units_per_step, count, one.step_seconds),
                day=one.created_at.date(),
                commit=one.commit[:SHOWN_SHA],
                origin=f"upload {one.upload_id}",
            )
        )
    return tuple(found)


def _bundle_speeds(ordered: Sequence[tuple[str, Bundle]]) -> tuple[MeasuredSpeed, ...]:
    """Return the newest speed of each workload and class of device; a later one goes before."""
    found: dict[tuple[str, str], MeasuredSpeed] = {}
    for name, bundle in ordered:
        machines = bundle.machines()
        for spec in bundle.workloads:
            runs = [run for run in bundle.runs if (run.workload, run.side) == (spec.id, Side.BASE)]
            step = typical_range(runs, metric=STEP_TIME)
            if step is None:
                continue
            machine = machines[spec.id, Side.BASE]
            found[spec.id, machine.device_class] = MeasuredSpeed(
                workload=spec.id,
                unit=spec.unit,
                device=_model(machine),
                accelerator=accelerator_of(_model(machine), machine.memory_bytes),
                units_per_second=_rate(spec.units_per_step, machine.count, step),
                day=_moment(bundle, name).date(),
                commit=bundle.base.sha[:SHOWN_SHA],
                origin=name,
            )
    return tuple(found[key] for key in sorted(found))


def _rate(
    units: float, devices: int, step_seconds: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Return the units of work a second of one device: low, typical, high."""
    low, typical, high = (seconds * devices for seconds in step_seconds)
    return units / high, units / typical, units / low


def _landed(one: StoredChange) -> Landed:
    memory = msgspec.json.decode(one.machine, type=_Memory)
    return Landed(
        workload=one.workload,
        commit=one.commit[:SHOWN_SHA],
        subject=one.subject,
        day=one.created_at.date(),
        device=memory.model,
        accelerator=accelerator_of(memory.model, memory.memory_bytes),
        change=one.change,
        origin=f"upload {one.upload_id}",
    )


def _landed_in(bundle: Bundle, name: str) -> tuple[Landed, ...]:
    machines = bundle.machines()
    found: list[Landed] = []
    for verdict in judge_bundle(bundle):
        estimate = verdict.estimate
        is_change = verdict.outcome in CHANGED and not verdict.is_warning
        if verdict.metric.name != STEP_TIME.name or not is_change or estimate is None:
            continue
        machine = machines[verdict.workload, Side.HEAD]
        found.append(
            Landed(
                workload=verdict.workload,
                commit=bundle.head.sha[:SHOWN_SHA],
                subject=bundle.head.subject,
                day=_moment(bundle, name).date(),
                device=_model(machine),
                accelerator=accelerator_of(_model(machine), machine.memory_bytes),
                change=(estimate.low, estimate.change, estimate.high),
                origin=name,
            )
        )
    return tuple(found)


def _observations(bundle: Bundle) -> int:
    return len({(run.workload, run.side, metric) for run in bundle.runs for metric in run.samples})


def _model(machine: Machine) -> str:
    """Return the device's own name, or the CPU's where no accelerator was measured."""
    return machine.cpu_model or machine.model if machine.device is Device.CPU else machine.model
