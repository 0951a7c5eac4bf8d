"""Measures the load curve of a workload in the working folder."""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from perfledger.load import (
    BATCH_PARAMETER,
    MAX_CONCURRENCY,
    MAX_POINTS,
    MAX_REQUESTS,
    MAX_SECONDS,
    MAX_SERVERS,
    Load,
    pool_results,
)
from perfledger.records import Device, Failure, WorkloadSpec
from perfledger.registration.variant_name import VARIANT_PARAMETER
from perfledger.rounding import for_programs, typed
from perfledger_baselines.estimation.load_points import MeasuredLoad, measured_point
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.children.harness import for_workloads
from perfledger_runners.children.protocol_parser import MAX_BATCH
from perfledger_runners.machine.device_locks import DeviceLocks
from perfledger_runners.machine.fingerprint import fingerprint, read_host, read_machine
from perfledger_runners.measuring.discovery import Discovery, discover
from perfledger_runners.measuring.load_runs import (
    LoadProgress,
    LoadRunPoint,
    LoadRuns,
    load_workloads,
)
from perfledger_service.errors import NotFoundError, NotMeasuredError, UsageError
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.settings.check import CheckSettings
from perfledger_service.settings.sources import check_settings
from perfledger_service.usecases.bench.repository_harness import repository_harness
from perfledger_service.usecases.check.child_requests import request_for
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import read_text
from perfledger_service.usecases.inputs.repository_config import configured_table

MIN_SECONDS = 0.01
MAX_RATE = 1e6  # Python itself cannot start requests faster
MAX_ARRIVALS_BYTES = 2**20
MAX_DETAIL = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest:
    """The workload to load: `module:function`, or an id with its parameters."""

    workload: str
    batches: tuple[int, ...] = ()  # instead of the decorator's; empty: the decorator's
    device: str | None = None  # None: as configured


class WaitingLoadProgress(LoadProgress, Protocol):
    """Progress listener of a load test that waits for its turn among the machine's checks."""

    def stage(self, name: str) -> None:
        """Report that the test waits."""
        ...


def measure_load(
    folder: Path, request: LoadRequest, load: Load, *, progress: WaitingLoadProgress
) -> MeasuredLoad:
    """Load-test a workload of the working folder as it is now, and return its load curve.

    Raises UsageError for an invalid load, NotFoundError without such a workload, and
    NotMeasuredError if no point could be measured.
    """
    _check(load, request.batches)
    with translate_errors():
        repository = Repository.open(folder)
        name, table = configured_table(repository.root) or ("", None)
        flags = {"device": request.device}
        settings, _ = check_settings(flags=flags, table=table, table_name=name)
        settings = _with_batches(settings, request)
        with (
            DeviceLocks(folder=settings.lock_folder, waiting=progress.stage) as locks,
            repository_harness(repository.root, settings, launch=settings.launch) as harness,
        ):
            child_request = request_for(repository.root, repository.root, settings)
            discovery = discover(harness, child_request)
            specs = _select_workloads(discovery, request.workload)
            names = [spec.id for spec in specs]
            machine, _ = read_machine(
                discovery.facts, requested=settings.device, environment=os.environ
            )
            locks.measure_on(machine)
            limited = for_workloads(harness, specs)
            child_request = replace(child_request, files=discovery.files)
            load_runs = load_workloads(limited, child_request, names, load, progress=progress)
    return _curve(_name_without_batch(specs[0]), load_runs, discovery, load)


def read_arrivals(path: Path) -> tuple[float, ...]:
    """Read arrival times in seconds, one per line in any order; return them relative to the first.

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
            msg = f"{path}, line {number}: {clean(line)!r} is not a number of seconds"
            raise UsageError(msg)
        times.append(time)
    times.sort()
    if len(times) > MAX_REQUESTS or not times or not 0 < times[-1] - times[0] <= MAX_SECONDS:
        msg = (
            f"{path} has {len(times)} arrivals: give 2 to {MAX_REQUESTS} that span more than 0 and "
            f"at most {typed(MAX_SECONDS)} s"
        )
        raise UsageError(msg)
    return tuple(time - times[0] for time in times)


def _check(load: Load, batches: Sequence[int]) -> None:
    """Raise UsageError for an invalid load."""
    if not MIN_SECONDS <= load.seconds <= MAX_SECONDS:
        msg = (
            f"{for_programs(load.seconds)} seconds a point: give {typed(MIN_SECONDS)} to "
            f"{typed(MAX_SECONDS)}"
        )
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
                f"--request-rate {for_programs(rate)} for {typed(load.seconds)} s: give at least "
                "one request in "
                f"that time, and at most {typed(MAX_RATE)} a second"
            )
            raise UsageError(msg)


def _check_each(name: str, values: Sequence[int], *, most: int) -> None:
    if len(set(values)) < len(values) or not all(1 <= value <= most for value in values):
        msg = f"--{name} {', '.join(map(str, values))}: give numbers of 1 to {most}, each only once"
        raise UsageError(msg)


def _with_batches(settings: CheckSettings, request: LoadRequest) -> CheckSettings:
    if not request.batches:
        return settings
    key = request.workload.partition("[")[0]
    params = {**settings.params.get(key, {}), BATCH_PARAMETER: request.batches}
    return settings.model_copy(update={"params": {**settings.params, key: params}})


def _select_workloads(discovery: Discovery, name: str) -> tuple[WorkloadSpec, ...]:
    """Return the workloads with this name, which may differ only in their batch."""
    workloads = discovery.workloads
    specs = [spec for spec in workloads if name in (spec.id, _name_without_batch(spec))]
    specs = specs or [spec for spec in workloads if name == spec.id.partition("[")[0]]
    names = {_name_without_batch(spec) for spec in specs}
    if not specs:
        broken = "".join(f"; {file.path}: {file.detail}" for file in discovery.broken)
        msg = f"no workload {clean(name)}: perfledger bench list lists them{broken}"
        raise NotFoundError(clean(msg, limit=MAX_DETAIL))
    if len(names) > 1:
        listed = ", ".join(sorted(names))
        msg = f"{clean(name)} is several workloads; choose one of {clean(listed, limit=MAX_DETAIL)}"
        raise UsageError(msg)
    return tuple(specs)


def _name_without_batch(spec: WorkloadSpec) -> str:
    """Return a workload's id with its batch removed."""
    values = {**spec.params, **({VARIANT_PARAMETER: spec.variant} if spec.variant else {})}
    params = [f"{name}={value}" for name, value in values.items() if name != BATCH_PARAMETER]
    key = f"{spec.module}:{spec.function}"
    return f"{key}[{','.join(params)}]" if params else key


def _curve(name: str, load_runs: LoadRuns, discovery: Discovery, load: Load) -> MeasuredLoad:
    failures = tuple(map(_failure, load_runs.failures))
    load_points = tuple(_by_load(load_runs.points))
    notes = tuple(trouble for each in load_points if (trouble := _unusable_reason(each)))
    points = tuple(
        measured_point(each.result, batch=each.batch, memory_bytes=each.memory_bytes)
        for each in load_points
        if not _unusable_reason(each)
    )
    if load_runs.device is None or not points:
        msg = f"not measured: {' '.join((*failures, *notes))}"
        raise NotMeasuredError(msg)
    return MeasuredLoad(
        workload=name,
        device=_device(discovery, load_runs.device),
        devices=load_runs.devices,
        servers=load.servers,
        points=points,
        failures=failures,
        notes=notes,
    )


def _by_load(points: Sequence[LoadRunPoint]) -> Iterator[LoadRunPoint]:
    """Yield one point per load, pooling runs of the same load."""
    points_of_load: dict[tuple[int, int | None, float | None], list[LoadRunPoint]] = {}
    for each in points:
        key = (each.batch, each.result.concurrency, each.result.offered_per_second)
        points_of_load.setdefault(key, []).append(each)
    for parts in points_of_load.values():
        yield replace(parts[-1], result=pool_results([part.result for part in parts]))


def _unusable_reason(point: LoadRunPoint) -> str:
    """Return why a point has no steady state, and therefore no latencies; "" if it has one."""
    result = point.result
    offered = number_format.count(result.offered_per_second or 0)
    if result.unserved:
        return (
            f"At {offered} requests a second (batch {point.batch}) {result.unserved:,} were never "
            "served: the rate is above the capacity, so there are no latencies."
        )
    if not result.answered:
        return (
            f"At {offered} requests a second (batch {point.batch}) none was answered within "
            f"{typed(result.seconds)} s: increase --seconds-per-point."
        )
    return ""


def _failure(failure: Failure) -> str:
    detail = clean(failure.detail, limit=MAX_DETAIL)
    return f"{clean(failure.workload)} {vocabulary.failure_reason_phrase(failure.why)}: {detail}."


def _device(discovery: Discovery, device: Device) -> str:
    """Return the name of the device that the workload ran on."""
    return fingerprint(discovery.facts, requested=device, host=read_host()).model
