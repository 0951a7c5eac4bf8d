"""Runs load tests on the workloads of a checkout."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import msgspec

from perfledger.load import Load, LoadResult
from perfledger.protocol import ChildRequest, Command
from perfledger.records import Device, Failure, FailureReason, Side
from perfledger_runners.children.child_process import ChildExit, run_request
from perfledger_runners.children.harness import Harness
from perfledger_runners.children.protocol_parser import (
    FailedMessage,
    LoadedMessage,
    ServedMessage,
    StartedMessage,
    failed_message,
)

# A point takes its seconds, a ramp before them, and the same time again until waiting requests end.
MAX_OVERRUN_FACTOR = 3.0

NO_POINT_ERROR = "its child ended the load without reporting a point"


class LoadProgress(Protocol):
    """A listener to the progress of a load test."""

    def loading(self, workload: str) -> None:
        """Report that a workload is being set up."""
        ...

    def point_done(self, served: LoadResult) -> None:
        """Report the result of one point."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRunPoint:
    """One point of a workload's load."""

    batch: int  # items per request
    result: LoadResult
    memory_bytes: int | None  # peak since the set-up; None if unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRuns:
    """The points of the workloads that completed all of them, and the others' failures."""

    points: tuple[LoadRunPoint, ...]
    failures: tuple[Failure, ...]
    device: Device | None  # None: nothing ran
    devices: int  # per server


def load_workloads(
    harness: Harness,
    request: ChildRequest,
    workloads: Sequence[str],
    load: Load,
    *,
    progress: LoadProgress,
) -> LoadRuns:
    """Run the load on each workload, each in its own child so that memory is not shared.

    The request's command and workloads are ignored. A workload that fails at any point has no
    points.
    """
    longest_s = max((load.seconds, *load.arrivals_s[-1:]))
    limits = harness.limits
    seconds = limits.workload_s + MAX_OVERRUN_FACTOR * longest_s
    patient = replace(harness, limits=replace(limits, workload_s=seconds))
    load_request = replace(request, command=Command.LOAD, load=load, is_interleaved=False)
    points: list[LoadRunPoint] = []
    failures: list[Failure] = []
    last: LoadedMessage | None = None
    for name in workloads:
        outcome = _load(patient, replace(load_request, workloads=(name,)), progress)
        if isinstance(outcome, Failure):
            failures.append(outcome)
            continue
        last, served = outcome
        points += (_point(last.batch, message) for message in served)
    return LoadRuns(
        points=tuple(points),
        failures=tuple(failures),
        device=last.device if last else None,
        devices=last.devices if last else 1,
    )


def _load(
    harness: Harness, request: ChildRequest, progress: LoadProgress
) -> tuple[LoadedMessage, tuple[ServedMessage, ...]] | Failure:
    served: list[ServedMessage] = []
    loaded: LoadedMessage | None = None
    failure: Failure | None = None
    for message in run_request(harness, request):
        match message:
            case StartedMessage():
                progress.loading(message.workload)
            case ServedMessage():
                served.append(message)
                progress.point_done(_result(message))
            case LoadedMessage():
                loaded = message
            case FailedMessage():
                failure = _failure(message)
            case ChildExit() if failure is not None:
                failure = replace(failure, log_tail=message.log_tail)
            case _:
                pass
    if loaded is not None and served:
        return loaded, tuple(served)
    return failure or _failure(
        failed_message(request.workloads[0], FailureReason.GARBAGE, NO_POINT_ERROR)
    )


def _failure(message: FailedMessage) -> Failure:
    return Failure(
        workload=message.workload, side=Side.HEAD, why=message.reason, detail=message.detail
    )


def _point(batch: int, message: ServedMessage) -> LoadRunPoint:
    peak = message.peak_bytes
    return LoadRunPoint(
        batch=batch, result=_result(message), memory_bytes=round(peak) if peak else None
    )


def _result(message: ServedMessage) -> LoadResult:
    return msgspec.convert(message, LoadResult, from_attributes=True)
