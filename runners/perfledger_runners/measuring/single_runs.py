"""Measures one workload alone, in one fresh process after another."""

from collections.abc import Iterator
from dataclasses import replace

from perfledger.protocol import ChildRequest, Command
from perfledger.records import Failure, FailureReason, Run, Side
from perfledger_runners.children.child_process import ChildExit, run_request
from perfledger_runners.children.harness import Harness
from perfledger_runners.children.protocol_parser import (
    FailedMessage,
    RunMessage,
    SamplingMessage,
)
from perfledger_runners.machine.telemetry import Telemetry, throttling_failure, with_telemetry
from perfledger_runners.measuring.measured_pair import run_of

NO_RUN = "its process ended without a result"


def measure_processes(
    harness: Harness,
    request: ChildRequest,
    workload: str,
    *,
    processes: int,
    telemetry: Telemetry,
) -> Iterator[Run | Failure]:
    """Yield the run of each process, up to the first failure.

    The request's command and workloads are ignored.
    """
    measuring = replace(
        request, command=Command.MEASURE, workloads=(workload,), is_interleaved=False
    )
    for process in range(processes):
        answer = _measure(harness, measuring, telemetry, process=process)
        yield answer
        if isinstance(answer, Failure):
            return


def _measure(
    harness: Harness, request: ChildRequest, telemetry: Telemetry, *, process: int
) -> Run | Failure:
    answer: Run | Failure = Failure(
        workload=request.workloads[0], side=Side.HEAD, why=FailureReason.GARBAGE, detail=NO_RUN
    )
    try:
        for message in run_request(harness, request):
            match message:
                case SamplingMessage():
                    telemetry.start()
                case RunMessage():
                    answer = _run(message, telemetry, process=process)
                case FailedMessage():
                    answer = Failure(
                        workload=message.workload,
                        side=Side.HEAD,
                        why=message.reason,
                        detail=message.detail,
                    )
                case ChildExit() if isinstance(answer, Failure):
                    tail = message.own_tails.get(answer.workload, message.log_tail)
                    answer = replace(answer, log_tail=tail)
                case _:
                    pass
    finally:
        telemetry.stop()
    return answer


def _run(message: RunMessage, telemetry: Telemetry, *, process: int) -> Run | Failure:
    readings = telemetry.stop()
    run = run_of(message, side=Side.HEAD, pair=process, position=0, process=process)
    failure = throttling_failure(run, readings, spans_s=message.spans_s)
    return failure or with_telemetry(run, readings, spans_s=message.spans_s)
