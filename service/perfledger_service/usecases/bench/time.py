"""Times a statement in fresh processes, as `timeit` does in its own."""

import math
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Protocol

import numpy as np

from perfledger.metrics import CPU_TIME, PEAK_MEMORY, STEP_TIME
from perfledger.protocol import BenchmarkSuite, ChildRequest
from perfledger.records import Failure, HostFinding, Machine, Run
from perfledger.registration.statement import Statement
from perfledger_baselines.estimation.estimators import point_estimates
from perfledger_baselines.estimation.typical_range import typical_step_time_s
from perfledger_runners.children.harness import Harness
from perfledger_runners.machine.device_locks import DeviceLocks
from perfledger_runners.machine.fingerprint import read_machine
from perfledger_runners.machine.fitness_gate import read_fitness, read_fitness_afterwards
from perfledger_runners.machine.telemetry import GpuTelemetry, NoTelemetry, Telemetry
from perfledger_runners.measuring.discovery import Discovery, discover
from perfledger_runners.measuring.single_runs import measure_processes
from perfledger_service.errors import NotMeasuredError, UsageError
from perfledger_service.settings.sources import check_settings
from perfledger_service.usecases.bench.repository_harness import repository_harness
from perfledger_service.usecases.check.child_requests import request_for
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.repository_config import configured_table, root_of
from perfledger_service.values.timed_statement import TimedProcess, TimedStatement

MIN_PROCESSES, MAX_PROCESSES = 2, 100  # one process shows no spread
# Seconds of a reading: a shorter statement is called several times, so that the harness's own cost
# of a reading, about 0.1 µs, is a ten-thousandth of it.
READING_SECONDS = 1e-3
MAX_CALLS = 10_000_000  # of a short statement within one reading


class TimingProgress(Protocol):
    """A listener to the progress of a timing."""

    def stage(self, name: str) -> None:
        """Report what is done next."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRequest:
    """A statement with its set-up, and the number of processes that time it."""

    statement: str
    set_up: str = ""
    processes: int = 5
    device: str | None = None  # None: as configured

    def __post_init__(self) -> None:
        if not self.statement.strip():
            msg = "the statement is empty: give Python code, such as 'sum(range(100))'"
            raise UsageError(msg)
        if not MIN_PROCESSES <= self.processes <= MAX_PROCESSES:
            msg = f"--processes {self.processes}: give {MIN_PROCESSES} to {MAX_PROCESSES}"
            raise UsageError(msg)


def time_statement(
    folder: Path, request: TimeRequest, *, progress: TimingProgress
) -> TimedStatement:
    """Time a statement with the configured Python, in the repository of `folder` or in `folder`.

    One extra process runs first to find how many calls make a reading. Waits for its turn among the
    machine's checks. Raises NotMeasuredError if the statement cannot be timed.
    """
    with translate_errors(), ExitStack() as stack:
        root = root_of(folder).resolve()
        name, table = configured_table(root) or ("", None)
        settings, _ = check_settings(flags={"device": request.device}, table=table, table_name=name)
        locks = stack.enter_context(
            DeviceLocks(folder=settings.lock_folder, waiting=progress.stage)
        )
        harness = stack.enter_context(repository_harness(root, settings))
        statement = Statement(text=request.statement, set_up=request.set_up)
        child_request = replace(
            request_for(root, root, settings), suite=BenchmarkSuite.STATEMENT, statement=statement
        )
        progress.stage("compiling the statement")
        discovery = discover(harness, child_request)
        workload = _workload(discovery)
        machine, gpu = read_machine(
            discovery.facts, requested=settings.device, environment=os.environ
        )
        locks.measure_on(machine)
        findings = (*read_fitness(machine.device, gpu, devices=1), locks.finding)
        telemetry = NoTelemetry() if gpu is None else GpuTelemetry(gpu)
        progress.stage("finding how many calls make a reading")
        (first,) = _runs(harness, child_request, workload, processes=1, telemetry=telemetry)
        repeats = calls_per_reading(first)
        progress.stage(f"timing it in {request.processes} processes")
        runs = _runs(
            harness,
            replace(child_request, statement=replace(statement, repeats=repeats)),
            workload,
            processes=request.processes,
            telemetry=telemetry,
        )
    findings += (read_fitness_afterwards(),)
    return summarise_runs(request, runs, machine, repeats=repeats, findings=findings)


def _workload(discovery: Discovery) -> str:
    if discovery.broken:
        msg = f"not measured: {discovery.broken[0].path}: {discovery.broken[0].detail}"
        raise NotMeasuredError(msg)
    return discovery.workloads[0].id


def _runs(
    harness: Harness,
    request: ChildRequest,
    workload: str,
    *,
    processes: int,
    telemetry: Telemetry,
) -> tuple[Run, ...]:
    runs: list[Run] = []
    for answer in measure_processes(
        harness, request, workload, processes=processes, telemetry=telemetry
    ):
        if isinstance(answer, Failure):
            lines = answer.log_tail.strip()
            log = f"\n{lines}" if lines else ""
            msg = f"not measured: {answer.detail}{log}"
            raise NotMeasuredError(msg)
        runs.append(answer)
    return tuple(runs)


def calls_per_reading(run: Run) -> int:
    """Return how many calls take about READING_SECONDS, rounded up to a power of ten as in timeit.

    `run` timed one call per reading.
    """
    typical_s = max(median(run.samples[STEP_TIME.name]), READING_SECONDS / MAX_CALLS)
    return int(10 ** max(0, math.ceil(math.log10(READING_SECONDS / typical_s))))


def summarise_runs(
    request: TimeRequest,
    runs: Sequence[Run],
    machine: Machine,
    *,
    repeats: int,
    findings: tuple[HostFinding, ...],
) -> TimedStatement:
    """Return the times of one call from all processes' runs, with `repeats` calls per reading.

    Raises NotMeasuredError for a reading that is not a valid time.
    """
    interval = typical_step_time_s(runs)
    if interval is None:
        msg = "not measured: a reading is zero or not a number"
        raise NotMeasuredError(msg)
    low_s, typical_s, high_s = (each / repeats for each in interval)
    estimates = [each for each in point_estimates(runs, STEP_TIME) if each is not None]
    cpu_times = [each / repeats for run in runs for each in run.samples.get(CPU_TIME.name, ())]
    peaks = [each for run in runs for each in run.samples.get(PEAK_MEMORY.name, ())]
    return TimedStatement(
        statement=request.statement,
        set_up=request.set_up,
        machine=machine.part_used_by(runs[0]),
        processes=tuple(
            _process(run, estimate, repeats) for run, estimate in zip(runs, estimates, strict=True)
        ),
        typical_s=typical_s,
        low_s=low_s,
        high_s=high_s,
        calls=repeats * runs[0].evidence.steps_per_reading,
        cpu_time_s=fmean(cpu_times) if cpu_times else None,
        memory_bytes=max(peaks, default=None),
        findings=findings,
    )


def _process(run: Run, typical_s: float, repeats: int) -> TimedProcess:
    times_s = [each / repeats for each in run.samples[STEP_TIME.name]]
    p5_s, p25_s, p75_s, p95_s = np.quantile(times_s, (0.05, 0.25, 0.75, 0.95)).tolist()
    return TimedProcess(
        typical_s=typical_s / repeats,
        p5_s=p5_s,
        p25_s=p25_s,
        p75_s=p75_s,
        p95_s=p95_s,
        readings=len(run.samples[STEP_TIME.name]),
    )
