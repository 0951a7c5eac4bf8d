"""Summarises a profiler file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from perfledger_profiles.parsing.device_choice import DeviceChoice
from perfledger_service.cli.command import command
from perfledger_service.cli.device_flags import Device, Rank, choice_of
from perfledger_service.cli.option_groups import argument
from perfledger_service.cli.output import DOCUMENT, Format, Formats, Output, write_text
from perfledger_service.errors import UsageError


@command(
    examples=(
        "perfledger trace summary trace.json",
        "perfledger trace summary trace.json --format svg --output trace.svg",
        "perfledger trace summary rank0.json rank1.json",
    )
)
def summary(
    files: Annotated[
        list[Path],
        argument(
            "a file of torch.profiler, jax.profiler, nsys, ncu, nccl-tests, ..., or one file per "
            "rank",
            metavar="FILE",
        ),
    ],
    *,
    device: Device = None,
    rank: Rank = None,
    output: Annotated[Output, Formats(*DOCUMENT, Format.SVG, Format.SPEEDSCOPE)],
) -> None:
    """Show where the time of a step goes, what it is bound by and what to do about it.

    A recording of several devices is broken down per device; --device-number and --rank choose one.
    With one file per rank of a job, it also shows which rank the others wait for, how often and how
    long. Each file is read in a separate process with limits on memory and time. Exits with 2 for a
    file that cannot be read, else with 0.
    """
    from perfledger_service.rendering.trace.profile_svg import trace_svg
    from perfledger_service.rendering.trace.summary import trace_document
    from perfledger_service.usecases.trace.summary import summarize

    if len(files) > 1:
        _show_ranks(files, output, choice_of(device, rank))
        return
    if output.chosen is Format.SPEEDSCOPE:
        if not choice_of(device, rank).is_any:
            msg = (
                "--format speedscope writes the whole recording: leave out --device-number and "
                "--rank"
            )
            raise UsageError(msg)
        _export(files[0], output.output)
        return
    output.write_document(
        summarize(files[0], choice=choice_of(device, rank)), trace_document, svg=trace_svg
    )


def _export(file: Path, output: Path | None) -> None:
    """Write a whole recording for speedscope, and report on standard error what was left out."""
    from perfledger_service.rendering.layout.escape import clean
    from perfledger_service.usecases.inputs.history_sources import display_name
    from perfledger_service.usecases.trace.summary import export

    document, left_out = export(file)
    write_text(document, output)
    if left_out:
        typer.echo(f"{display_name(file)}: {clean(left_out, limit=200)}", err=True)


def _show_ranks(files: Sequence[Path], output: Output, choice: DeviceChoice) -> None:
    from perfledger_service.rendering.trace.ranks import ranks_document
    from perfledger_service.usecases.trace.summary import compare_ranks

    if output.chosen in (Format.SVG, Format.SPEEDSCOPE):
        msg = (
            f"--format {output.chosen} takes one file: give one, or choose table, json, csv or "
            "markdown"
        )
        raise UsageError(msg)
    output.write_document(compare_ranks(files, choice=choice), ranks_document)
