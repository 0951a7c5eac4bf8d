"""Predicts a step's time if parts of it were faster."""

from math import inf, nan
from pathlib import Path
from typing import Annotated

from perfledger.rounding import typed
from perfledger_service.cli.command import command
from perfledger_service.cli.device_flags import Device, Rank, choice_of
from perfledger_service.cli.option_groups import argument, what
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.errors import UsageError

# No part of a step changes by a larger factor unless it is removed or is the whole step.
MAX_SPEEDUP = 1e6


@command(
    examples=(
        "perfledger trace whatif trace.json --speedup input=2",
        "perfledger trace whatif trace.json --speedup input=inf --speedup host=1.5 --json",
    )
)
def whatif(
    file: Annotated[Path, argument("a profiler file with steps", metavar="FILE")],
    *,
    speedup: Annotated[
        list[str],
        what("speedup of a bucket, operation or kernel; repeatable", metavar="NAME=FACTOR"),
    ],
    device: Device = None,
    rank: Rank = None,
    output: DocumentOutput,
) -> None:
    """Predict the time of a step if parts of it were faster (Amdahl's law).

    A factor of inf removes a part; one below 1 makes it slower.
    """
    from perfledger_service.rendering.trace.whatif import what_if_document
    from perfledger_service.usecases.inputs.history_sources import display_name
    from perfledger_service.usecases.trace.whatif import what_if

    name = display_name(file)
    output.write_document(
        what_if(file, changes=dict(map(_named_speedup, speedup)), choice=choice_of(device, rank)),
        lambda step: what_if_document(name, step),
    )


def _named_speedup(text: str) -> tuple[str, float]:
    """Return a part's name and its factor; a name may contain an equals sign."""
    from perfledger_service.rendering.layout.escape import clean

    name, _, number = text.rpartition("=")
    try:
        factor = float(number)
    except ValueError:
        factor = nan
    if not name or not (factor == inf or 1 / MAX_SPEEDUP <= factor <= MAX_SPEEDUP):
        msg = (
            f"--speedup {clean(text)}: give NAME=FACTOR with a factor from "
            f"{typed(1 / MAX_SPEEDUP)} to "
            f"{typed(MAX_SPEEDUP)}, such as input=2, or input=inf to remove it"
        )
        raise UsageError(msg)
    return name, factor
