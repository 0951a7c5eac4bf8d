"""Explains the difference between two profiler files."""

from pathlib import Path
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.device_flags import Device, Rank, choice_of
from perfledger_service.cli.option_groups import argument, how
from perfledger_service.cli.output import DOCUMENT, Format, Formats, Output, document_formats


@command(
    examples=(
        "perfledger trace diff base.json head.json",
        "perfledger trace diff base.json head.json --format speedscope --output diff.json",
        "perfledger trace diff base.json head.json --base-repeat base2.json",
    )
)
def diff(
    base: Annotated[Path, argument("the profiler file of the base", metavar="BASE")],
    head: Annotated[
        Path, argument("the profiler file of the head, of the same kind", metavar="HEAD")
    ],
    *,
    base_repeat: Annotated[
        list[Path] | None, how("another profile of the base, to estimate the noise", metavar="FILE")
    ] = None,
    device: Device = None,
    rank: Rank = None,
    output: Annotated[Output, Formats(*DOCUMENT, Format.SVG, Format.SPEEDSCOPE)],
) -> None:
    """Show which operations made a step slower or faster, and how much is not explained.

    It does not judge: it exits with 0 for any difference, and with 2 for a file that cannot be
    read.
    """
    from perfledger_service.rendering.trace.diff import trace_diff_document, trace_diff_speedscope
    from perfledger_service.rendering.trace.profile_svg import trace_diff_svg
    from perfledger_service.usecases.trace.diff import compare_traces

    output.write(
        compare_traces(base, head, base_repeats=base_repeat or (), choice=choice_of(device, rank)),
        document_formats(trace_diff_document)
        | {Format.SVG: trace_diff_svg, Format.SPEEDSCOPE: trace_diff_speedscope},
    )
