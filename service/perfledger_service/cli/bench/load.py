"""Load-tests a workload with simulated clients."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from perfledger_service.cli.command import command
from perfledger_service.cli.device_flags import MeasuringDevice, only_chosen_gpu
from perfledger_service.cli.interruption import interruptible
from perfledger_service.cli.option_groups import argument, how, out, what
from perfledger_service.cli.output import DocumentOutput, write_text
from perfledger_service.errors import UsageError

if TYPE_CHECKING:  # this would make every help slow
    from perfledger.load import Load

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFlags:
    """The requests to send and the duration of each point."""

    concurrency: Annotated[
        str, what("closed loop: numbers of concurrent clients, such as 1,2,4", metavar="COUNTS")
    ] = ""
    request_rate: Annotated[
        str,
        what(
            "open loop: random arrivals per second, such as 10,20; 10x8 runs 8 times as long",
            metavar="RATES",
        ),
    ] = ""
    arrival_times: Annotated[
        Path | None,
        what("open loop: a file of arrival times in seconds, one per line", metavar="FILE"),
    ] = None
    seconds_per_point: Annotated[
        float, how("duration of each point after its ramp-up", metavar="SECONDS")
    ] = 10.0
    servers: Annotated[
        int, how("servers that share one queue, each on its own thread", metavar="COUNT")
    ] = 1
    seed: Annotated[int, how("seed of the random arrivals", metavar="NUMBER")] = 0
    batch: Annotated[
        str, what("values of the workload's parameter `batch`, such as 1,8", metavar="SIZES")
    ] = ""
    device: MeasuringDevice = None

    @property
    def load(self) -> "Load":
        """Return the load; raises UsageError."""
        from perfledger.load import Load
        from perfledger_service.usecases.bench.load import read_arrivals

        times = self.arrival_times
        return Load(
            concurrency=_numbers(self.concurrency, "--concurrency", int),
            rates=_rates(self.request_rate),
            arrivals_s=() if times is None else read_arrivals(times),
            seconds=self.seconds_per_point,
            servers=self.servers,
            seed=self.seed,
        )


@command(
    examples=(
        "perfledger bench load benchmarks.example:square_roots",
        "perfledger bench load benchmarks.example:square_roots --concurrency 1,2,4 --json",
        (
            "perfledger bench load benchmarks.example:square_roots --request-rate 20 "
            "--seconds-per-point 2 --save-curve curve.json"
        ),
    )
)
def load(
    workload: Annotated[
        str, argument("module:function, or an id with its parameters", metavar="WORKLOAD")
    ],
    *,
    load_flags: LoadFlags,
    output: DocumentOutput,
    save_curve: Annotated[
        Path | None, out("also write the JSON to this file", metavar="FILE")
    ] = None,
    save_chart: Annotated[
        Path | None, out("also draw the chart to this SVG file", metavar="FILE")
    ] = None,
) -> None:
    """Measure a workload's throughput against its P50, P95 and P99 latency.

    Without a load option it adds clients until throughput stops rising, then sends random arrivals
    at 25 to 90 percent of that rate. Exits with 3 if a batch, or everything, could not be measured.
    """
    from rich.console import Console

    from perfledger_service.cli.progress import LoadBar
    from perfledger_service.rendering.bench.load import load_document
    from perfledger_service.rendering.bench.load_plot import load_svg
    from perfledger_service.rendering.layout.writers import to_json
    from perfledger_service.usecases.bench.load import LoadRequest, measure_load
    from perfledger_service.values.report import ExitCode

    batches = _numbers(load_flags.batch, "--batch", int)
    request = LoadRequest(workload=workload, batches=batches)
    with (
        interruptible(),
        only_chosen_gpu(load_flags.device) as kind,
        LoadBar(Console(stderr=True)) as progress,
    ):
        request = replace(request, device=kind)
        measured = measure_load(Path(), request, load_flags.load, progress=progress)
    if save_curve is not None:
        write_text(to_json(load_document(measured)), save_curve)
    if save_chart is not None:
        write_text(load_svg(measured), save_chart)
    output.write_document(measured, load_document)
    if measured.failures:
        raise typer.Exit(ExitCode.UNCERTAIN)


def _rates(text: str) -> tuple[float, ...]:
    """Return the rates; "10x3" is three times 10."""
    from perfledger.load import MAX_POINTS
    from perfledger_service.rendering.layout.escape import clean

    rates: list[float] = []
    for part in text.split(",") if text else ():
        rate, sign, times = part.partition("x")
        count = _number(times, "--request-rate", int) if sign else 1
        if not 1 <= count < MAX_POINTS:
            msg = (
                f"--request-rate {clean(part)}: give 1 to {MAX_POINTS - 1} times the duration, "
                "such as 10x8"
            )
            raise UsageError(msg)
        rates += [_number(rate, "--request-rate", float)] * count
    return tuple(rates)


def _numbers(text: str, option: str, kind: Callable[[str], Number]) -> tuple[Number, ...]:
    return tuple(_number(part, option, kind) for part in text.split(",")) if text else ()


def _number(text: str, option: str, kind: Callable[[str], Number]) -> Number:
    from perfledger_service.rendering.layout.escape import clean

    try:
        return kind(text)
    except ValueError as error:
        msg = f"{option} {clean(text)}: give numbers separated by commas, such as 1,2,4"
        raise UsageError(msg) from error
