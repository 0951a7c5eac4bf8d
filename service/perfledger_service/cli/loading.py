"""The command that drives a workload as a server's clients would, and says what it then does."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.console import Console

from perfledger.load import Load
from perfledger_baselines.measured_load import MeasuredLoad
from perfledger_service.cli.checking import Output
from perfledger_service.cli.progress import LoadBar
from perfledger_service.cli.showing import show_table, show_text
from perfledger_service.errors import UsageError
from perfledger_service.pages.escape import clean
from perfledger_service.pages.measured_load import load_csv, load_json, load_text
from perfledger_service.pages.measured_load_plot import load_svg
from perfledger_service.report import ExitCode
from perfledger_service.usecases.loading import LoadQuestion, measure_load, read_arrivals

Number = TypeVar("Number", int, float)


class LoadFormat(StrEnum):
    """How a load curve is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def load(
    workload: Annotated[str, typer.Argument(help="module:function, or an id with its parameters")],
    *,
    concurrency: Annotated[
        str, typer.Option(help="closed loop: clients that each wait for their answer, 1,2,4")
    ] = "",
    rate: Annotated[
        str, typer.Option(help="open loop: requests a second at random times, 10,20")
    ] = "",
    arrivals: Annotated[
        Path | None, typer.Option(help="open loop: replay these times in seconds, one a line")
    ] = None,
    seconds: Annotated[float, typer.Option(help="of each point, after its ramp")] = 10.0,
    servers: Annotated[
        int, typer.Option(help="set-ups that serve one queue, each on a thread of its own")
    ] = 1,
    batch: Annotated[
        str, typer.Option(help="values of the workload's parameter `batch`, 1,8")
    ] = "",
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda or tpu")] = None,
    seed: Annotated[int, typer.Option(help="of the random arrivals")] = 0,
    form: Annotated[LoadFormat, typer.Option("--format", help="how to write it")] = (
        LoadFormat.TABLE
    ),
    output: Output = None,
    curve: Annotated[Path | None, typer.Option(help="also write the JSON here")] = None,
    picture: Annotated[Path | None, typer.Option(help="also draw it here, as SVG")] = None,
) -> None:
    """Measure throughput against P50, P95 and P99 of a workload of the working folder.

    Without a load of its own: more and more clients until that adds nothing, then random arrivals
    at 25 to 90 percent of the most that was answered. Exits with 3 where a batch, or all of it,
    could not be measured.
    """
    asked = Load(
        concurrency=_numbers(concurrency, "--concurrency", int),
        rates=_numbers(rate, "--rate", float),
        arrivals_s=() if arrivals is None else read_arrivals(arrivals),
        seconds=seconds,
        servers=servers,
        seed=seed,
    )
    question = LoadQuestion(
        workload=workload, batches=_numbers(batch, "--batch", int), device=device
    )
    with LoadBar(Console(stderr=True)) as progress:
        found = measure_load(Path(), question, asked, progress=progress)
    if curve is not None:
        show_text(load_json(found), curve)
    if picture is not None:
        show_text(load_svg(found), picture)
    _show(found, form, output)
    if found.failures:
        raise typer.Exit(ExitCode.UNCERTAIN)


def _show(found: MeasuredLoad, form: LoadFormat, output: Path | None) -> None:
    match form:
        case LoadFormat.TABLE:
            show_table(load_text(found), output)
        case LoadFormat.JSON:
            show_text(load_json(found), output)
        case LoadFormat.CSV:
            show_text(load_csv(found), output)


def _numbers(text: str, option: str, kind: Callable[[str], Number]) -> tuple[Number, ...]:
    try:
        return tuple(kind(part) for part in text.split(",")) if text else ()
    except ValueError as error:
        msg = f"{option} {clean(text)}: give numbers with commas between them, such as 1,2,4"
        raise UsageError(msg) from error
