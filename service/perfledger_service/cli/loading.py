"""The command that drives a workload as a server's clients would, and says what it then does."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.console import Console

from perfledger.load import MAX_POINTS, Load
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
        str,
        typer.Option(
            help="open loop: requests a second at random times, 10,20; 10x8: for as long 8 times"
        ),
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
        rates=_rates(rate),
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


def _rates(text: str) -> tuple[float, ...]:
    """Return the rates, "10x3" three times."""
    found: list[float] = []
    for part in text.split(",") if text else ():
        rate, sign, times = part.partition("x")
        count = _number(times, "--rate", int) if sign else 1
        if not 1 <= count < MAX_POINTS:
            msg = f"--rate {clean(part)}: give 1 to {MAX_POINTS - 1} times a rate, such as 10x8"
            raise UsageError(msg)
        found += [_number(rate, "--rate", float)] * count
    return tuple(found)


def _numbers(text: str, option: str, kind: Callable[[str], Number]) -> tuple[Number, ...]:
    return tuple(_number(part, option, kind) for part in text.split(",")) if text else ()


def _number(text: str, option: str, kind: Callable[[str], Number]) -> Number:
    try:
        return kind(text)
    except ValueError as error:
        msg = f"{option} {clean(text)}: give numbers with commas between them, such as 1,2,4"
        raise UsageError(msg) from error
