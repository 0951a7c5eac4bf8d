"""A checkout, some workloads and a load in, what became of the requests of each point out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from perfledger.load import Load, Served
from perfledger.protocol import Command, Request
from perfledger.records import Device, Failure, Side, Why
from perfledger_runners.child import Ended, run_request
from perfledger_runners.harness import Harness
from perfledger_runners.messages import Failed, Loaded, PointServed, Started, failed

# A point takes its seconds, a ramp before them, and as long again until what waits is given up.
TIMES_ITS_SECONDS = 3.0

NO_POINT = "its child says that the load is over, and nothing about any point of it"


class LoadProgress(Protocol):
    """Is told what is being loaded."""

    def loading(self, workload: str) -> None:
        """Hear that a workload is set up."""
        ...

    def point_done(self, served: Served) -> None:
        """Hear what became of one point."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPoint:
    """One point of a workload's load."""

    batch: int  # that each request held
    served: Served
    memory_bytes: int | None  # the most since the set-up; None when nothing tells


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedWorkloads:
    """All points of those workloads that went through all of them, and why others did not."""

    points: tuple[LoadedPoint, ...]
    failures: tuple[Failure, ...]
    device: Device | None  # None: nothing ran
    devices: int  # that one server computes on


def load_workloads(
    harness: Harness,
    request: Request,
    workloads: Sequence[str],
    load: Load,
    *,
    progress: LoadProgress,
) -> LoadedWorkloads:
    """Drive each workload with the load, in a child of its own: its memory is then its own.

    The request's command and workloads are ignored. One that fails at any point has no points.
    """
    longest_s = max((load.seconds, *load.arrivals_s[-1:]))
    limits = harness.limits
    seconds = limits.workload_s + TIMES_ITS_SECONDS * longest_s
    patient = replace(harness, limits=replace(limits, workload_s=seconds))
    asked = replace(request, command=Command.LOAD, load=load, takes_turns=False)
    points: list[LoadedPoint] = []
    failures: list[Failure] = []
    last: Loaded | None = None
    for name in workloads:
        found = _load(patient, replace(asked, workloads=(name,)), progress)
        if isinstance(found, Failure):
            failures.append(found)
            continue
        last, served = found
        points += (_point(last.batch, message) for message in served)
    return LoadedWorkloads(
        points=tuple(points),
        failures=tuple(failures),
        device=last.device if last else None,
        devices=last.devices if last else 1,
    )


def _load(
    harness: Harness, request: Request, progress: LoadProgress
) -> tuple[Loaded, tuple[PointServed, ...]] | Failure:
    served: list[PointServed] = []
    loaded: Loaded | None = None
    failure: Failure | None = None
    for message in run_request(harness, request):
        match message:
            case Started():
                progress.loading(message.workload)
            case PointServed():
                served.append(message)
                progress.point_done(_served(message))
            case Loaded():
                loaded = message
            case Failed():
                failure = _failure(message)
            case Ended() if failure is not None:
                failure = replace(failure, log_tail=message.log_tail)
            case _:
                pass
    if loaded is not None and served:
        return loaded, tuple(served)
    return failure or _failure(failed(request.workloads[0], Why.GARBAGE, NO_POINT))


def _failure(message: Failed) -> Failure:
    return Failure(
        workload=message.workload, side=Side.HEAD, why=message.why, detail=message.detail
    )


def _point(batch: int, message: PointServed) -> LoadedPoint:
    peak = message.peak_bytes
    return LoadedPoint(
        batch=batch, served=_served(message), memory_bytes=round(peak) if peak else None
    )


def _served(message: PointServed) -> Served:
    return Served(
        mode=message.mode,
        concurrency=message.concurrency,
        offered_per_second=message.offered_per_second,
        latencies_s=message.latencies_s,
        services_s=message.services_s,
        seconds=message.seconds,
        answered=message.answered,
        unserved=message.unserved,
    )
