"""Times a statement."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.device_flags import MeasuringDevice, only_chosen_gpu
from perfledger_service.cli.interruption import interruptible
from perfledger_service.cli.option_groups import argument, how, what
from perfledger_service.cli.output import DocumentOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeFlags:
    """How a statement is timed."""

    processes: Annotated[int, how("fresh processes to time it in", metavar="COUNT")] = 5
    device: MeasuringDevice = None


@command(
    examples=(
        "perfledger bench time 'sum(range(1000))'",
        "perfledger bench time 'sorted(numbers)' --setup 'numbers = list(range(1000))[::-1]'",
        "perfledger bench time 'sum(range(1000))' --processes 3 --json",
    )
)
def time_statement(
    statement: Annotated[str, argument("Python code to time", metavar="STATEMENT")],
    *,
    setup: Annotated[
        str, what("untimed code that runs first, once in each process", metavar="CODE")
    ] = "",
    time_flags: TimeFlags,
    output: DocumentOutput,
) -> None:
    """Time a statement in fresh processes, and show the interval and the spread.

    The statement runs with the repository's Python and can import its packages. A short
    statement is repeated within each reading.
    """
    from rich.console import Console

    from perfledger_service.cli.progress import TerminalProgress
    from perfledger_service.rendering.bench.time import time_document
    from perfledger_service.usecases.bench.time import TimeRequest, time_statement

    request = TimeRequest(
        statement=statement,
        set_up=setup,
        processes=time_flags.processes,
    )
    with (
        interruptible(),
        only_chosen_gpu(time_flags.device) as kind,
        TerminalProgress(Console(stderr=True)) as progress,
    ):
        timed = time_statement(Path(), replace(request, device=kind), progress=progress)
    output.write_document(timed, time_document)
