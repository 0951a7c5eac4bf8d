"""The working folder's workload and a load in, its load curve out."""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfledger.load import (
    BATCH_PARAMETER,
    MAX_CONCURRENCY,
    MAX_POINTS,
    MAX_REQUESTS,
    MAX_SECONDS,
    MAX_SERVERS,
    Load,
    pooled,
)
from perfledger.records import Device, Failure, WorkloadSpec
from perfledger_baselines.measured_load import MeasuredLoad, measured_point
from perfledger_runners.discovery import Discovery, discover
from perfledger_runners.harness import Limits, prepare_harness
from perfledger_runners.interpreter import find_python
from perfledger_runners.loading import LoadedPoint, LoadedWorkloads, LoadProgress, load_workloads
from perfledger_runners.machine import fingerprint, read_host
from perfledger_runners.messages import MAX_BATCH
from perfledger_runners.repository import Repository
from perfledger_service.errors import NotFoundError, NotMeasuredError, UsageError
from perfledger_service.pages import figures, words
from perfledger_service.pages.escape import clean
from perfledger_service.settings import CheckSettings, check_settings
from perfledger_service.usecases.check import request_for
from perfledger_service.usecases.setting_up import configured_table
from perfledger_service.usecases.text_files import read_text
from perfledger_service.usecases.translating import translated

MIN_SECONDS = 0.01
MAX_RATE = 1e6  # Python itself begins no more requests a second
MAX_ARRIVALS_BYTES = 2**20
MAX_DETAIL = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadQuestion:
    """What is to be loaded: `module:function`, or an id with its parameters."""

    workload: str
    batches: tuple[int, ...] = ()  # in place of the decorator's; empty: those
    device: str | None = None  # None: as configured


def measure_load(
    folder: Path, question: LoadQuestion, load: Load, *, progress: LoadProgress
) -> MeasuredLoad:
    """Drive a workload of the working folder, as it is now, and return its load curve.

    Raises UsageError for a load that cannot be, NotFoundError without such a workload, and
    NotMeasuredError where no point of it could be measured.
    """
    _check(load, question.batches)
    with translated():
        repository = Repository.open(folder)
        name, table = configured_table(repository.root) or ("", None)
        flags = {"device": question.device}
        settings, _ = check_settings(flags=flags, table=table, table_name=name)
        settings = _with_batches(settings, question)
        limits = Limits(workload_s=settings.timeout, startup_s=settings.timeout)
        with prepare_harness(
            find_python(repository.root, settings.python), environment=os.environ, limits=limits
        ) as harness:
            request = request_for(repository.root, repository.root, settings)
            found = discover(harness, request)
            chosen = _chosen(found, question.workload)
            names = [spec.id for spec in chosen]
            loaded = load_workloads(harness, request, names, load, progress=progress)
    return _curve(_name(chosen[0]), loaded, found, load)


def read_arrivals(path: Path) -> tuple[float, ...]:
    """Read times in seconds, one a line, in any order; return them from the first on.

    Raises NotFoundError, TooLargeError and UsageError.
    """
    times: list[float] = []
    for number, line in enumerate(read_text(path, most_bytes=MAX_ARRIVALS_BYTES).splitlines(), 1):
        if not line.strip():
            continue
        try:
            time = float(line)
        except ValueError:
            time = math.nan
        if not math.isfinite(time):
            msg = f"{path}, line {number}: {clean(line)!r} is no number of seconds"
            raise UsageError(msg)
        times.append(time)
    times.sort()
    if len(times) > MAX_REQUESTS or not times or not 0 < times[-1] - times[0] <= MAX_SECONDS:
        msg = (
            f"{path} has {len(times)} arrivals: give 2 to {MAX_REQUESTS}, over more than no time "
            f"and at most {MAX_SECONDS:g} s"
        )
        raise UsageError(msg)
    return tuple(time - times[0] for time in times)


def _check(load: Load, batches: Sequence[int]) -> None:
    """Raise UsageError for a load that cannot be."""
    if not MIN_SECONDS <= load.seconds <= MAX_SECONDS:
        msg = f"{load.seconds:g} seconds a point: give {MIN_SECONDS:g} to {MAX_SECONDS:g}"
        raise UsageError(msg)
    if not 1 <= load.servers <= MAX_SERVERS:
        msg = f"{load.servers} servers: give 1 to {MAX_SERVERS}"
        raise UsageError(msg)
    _check_each("concurrency", load.concurrency, most=MAX_CONCURRENCY)
    _check_each("batch", batches, most=MAX_BATCH)
    if len(load.concurrency) + len(load.rates) + 1 > MAX_POINTS:
        msg = f"more than {MAX_POINTS - 1} points: choose fewer"
        raise UsageError(msg)
    for rate in load.rates:
        if not 1 / load.seconds <= rate <= MAX_RATE:
            msg = (
                f"--rate {rate:g} for {load.seconds:g} s: give at least one request in that time, "
                f"and at most {MAX_RATE:g} a second"
            )
            raise UsageError(msg)


def _check_each(name: str, values: Sequence[int], *, most: int) -> None:
    if len(set(values)) < len(values) or not all(1 <= value <= most for value in values):
        msg = f"--{name} {', '.join(map(str, values))}: give numbers of 1 to {most}, each one once"
        raise UsageError(msg)


def _with_batches(settings: CheckSettings, question: LoadQuestion) -> CheckSettings:
    if not question.batches:
        return settings
    key = question.workload.partition("[")[0]
    params = {**settings.params.get(key, {}), BATCH_PARAMETER: question.batches}
    return settings.model_copy(update={"params": {**settings.params, key: params}})


def _chosen(found: Discovery, wanted: str) -> tuple[WorkloadSpec, ...]:
    """Return the workloads of that name, which differ in nothing but their batch."""
    known = found.workloads
    chosen = [spec for spec in known if wanted in (spec.id, _name(spec), spec.id.partition("[")[0])]
    names = {_name(spec) for spec in chosen}
    if not chosen:
        broken = "".join(f"; {file.path}: {file.detail}" for file in found.broken)
        msg = f"no workload {clean(wanted)}: perfledger workloads lists them{broken}"
        raise NotFoundError(clean(msg, limit=MAX_DETAIL))
    if len(names) > 1:
        listed = ", ".join(sorted(names))
        msg = (
            f"{clean(wanted)} is several workloads; choose one of {clean(listed, limit=MAX_DETAIL)}"
        )
        raise UsageError(msg)
    return tuple(chosen)


def _name(spec: WorkloadSpec) -> str:
    """Return a workload's id without its batch."""
    params = [f"{name}={value}" for name, value in spec.params.items() if name != BATCH_PARAMETER]
    key = f"{spec.module}:{spec.function}"
    return f"{key}[{','.join(params)}]" if params else key


def _curve(name: str, loaded: LoadedWorkloads, found: Discovery, load: Load) -> MeasuredLoad:
    failures = tuple(map(_failure, loaded.failures))
    driven = tuple(_by_load(loaded.points))
    notes = tuple(trouble for each in driven if (trouble := _trouble(each)))
    points = tuple(
        measured_point(each.served, batch=each.batch, memory_bytes=each.memory_bytes)
        for each in driven
        if not _trouble(each)
    )
    if loaded.device is None or not points:
        msg = f"not measured: {' '.join((*failures, *notes))}"
        raise NotMeasuredError(msg)
    return MeasuredLoad(
        workload=name,
        device=_device(found, loaded.device),
        devices=loaded.devices,
        servers=load.servers,
        points=points,
        failures=failures,
        notes=notes,
    )


def _by_load(points: Sequence[LoadedPoint]) -> Iterator[LoadedPoint]:
    """Yield a point for each load; a rate that was asked for again is more of the same one."""
    same: dict[tuple[int, int | None, float | None], list[LoadedPoint]] = {}
    for each in points:
        key = (each.batch, each.served.concurrency, each.served.offered_per_second)
        same.setdefault(key, []).append(each)
    for parts in same.values():
        yield replace(parts[-1], served=pooled([part.served for part in parts]))


def _trouble(point: LoadedPoint) -> str:
    """Say why a point has no steady state to tell latencies of; "" where it has."""
    served = point.served
    offered = figures.count(served.offered_per_second or 0)
    if served.unserved:
        return (
            f"At {offered} requests a second (batch {point.batch}) {served.unserved:,} were given "
            "up: they are more than can be served, and there are no latencies to tell."
        )
    if not served.answered:
        return (
            f"At {offered} requests a second (batch {point.batch}) none was answered within "
            f"{served.seconds:g} s: give it more --seconds."
        )
    return ""


def _failure(failure: Failure) -> str:
    detail = clean(failure.detail, limit=MAX_DETAIL)
    return f"{clean(failure.workload)} {words.why(failure.why)}: {detail}."


def _device(found: Discovery, device: Device) -> str:
    """Return what the device calls itself that the workload ran on."""
    return fingerprint(found.facts, requested=device, host=read_host()).model
