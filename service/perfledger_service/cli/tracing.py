"""Commands that look at profiler files: what one says, what changed between two, and what if."""

from enum import StrEnum
from math import inf, nan
from pathlib import Path
from typing import Annotated

import typer

from perfledger_service.cli.checking import Format, Formatted, Output
from perfledger_service.cli.showing import show_table, show_text
from perfledger_service.errors import UsageError
from perfledger_service.pages.escape import clean
from perfledger_service.pages.explained import trace_diff_markdown, trace_diff_text
from perfledger_service.pages.picture import trace_diff_svg, trace_svg
from perfledger_service.pages.profile_json import trace_diff_json, trace_json
from perfledger_service.pages.profiled import trace_markdown, trace_text
from perfledger_service.pages.ranks import ranks_json, ranks_markdown, ranks_text
from perfledger_service.pages.supposed import what_if_json, what_if_markdown, what_if_text
from perfledger_service.usecases.histories import shown
from perfledger_service.usecases.tracing import (
    compare_ranks,
    difference,
    export,
    summarize,
    what_if,
)

# No part of a step gets faster or slower by more; what does is taken away, or all there is.
MAX_FACTOR = 1e6


class TraceFormat(StrEnum):
    """How a trace is written."""

    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"
    SVG = "svg"
    SPEEDSCOPE = "speedscope"


class TraceDiffFormat(StrEnum):
    """How the difference of two traces is written."""

    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"
    SVG = "svg"


TraceFile = Annotated[
    Path, typer.Argument(help="a file of torch.profiler, jax.profiler, nsys, ncu, nccl-tests, ...")
]


def summary(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="a file of torch.profiler, jax.profiler, nsys, ncu, nccl-tests, ...; of several "
            "ranks one each"
        ),
    ],
    *,
    form: Annotated[
        TraceFormat,
        typer.Option("--format", help="how to write it; svg draws, speedscope exports all calls"),
    ] = TraceFormat.TABLE,
    output: Output = None,
) -> None:
    """Say where a step's time goes, what it is bound by and what to do about it.

    Of several files, one for each rank of a job: which rank the others wait for, how often and how
    long. Reads each file in a process of its own with limits on memory and time. Exits with 0
    whatever it finds, with 2 for a file that cannot be read.
    """
    if len(files) > 1:
        _show_ranks(files, form, output)
        return
    if form is TraceFormat.SPEEDSCOPE:
        _export(files[0], output)
        return
    found = summarize(files[0])
    match form:
        case TraceFormat.TABLE:
            show_table(trace_text(found), output)
        case TraceFormat.MARKDOWN:
            show_text(trace_markdown(found), output)
        case TraceFormat.JSON:
            show_text(trace_json(found), output)
        case TraceFormat.SVG:
            show_text(trace_svg(found), output)


def diff(
    base: TraceFile,
    head: Annotated[Path, typer.Argument(help="another of the same kind")],
    *,
    again: Annotated[
        list[Path] | None,
        typer.Option(
            "--aa",
            help="another file of base's own code: changes no larger than between those are noise; "
            "repeatable",
        ),
    ] = None,
    form: Annotated[
        TraceDiffFormat, typer.Option("--format", help="how to write it; svg draws")
    ] = TraceDiffFormat.TABLE,
    output: Output = None,
) -> None:
    """Say which operations made a step slower or faster, and what is left unexplained.

    The first file is the base. It judges nothing: exits with 0 whatever changed, with 2 for a file
    that cannot be read.
    """
    found = difference(base, head, again=again or ())
    match form:
        case TraceDiffFormat.TABLE:
            show_table(trace_diff_text(found), output)
        case TraceDiffFormat.MARKDOWN:
            show_text(trace_diff_markdown(found), output)
        case TraceDiffFormat.JSON:
            show_text(trace_diff_json(found), output)
        case TraceDiffFormat.SVG:
            show_text(trace_diff_svg(found), output)


def whatif(
    file: TraceFile,
    *,
    faster: Annotated[
        list[str],
        typer.Option(
            help="NAME=FACTOR: this bucket, operation or kernel, so many times as fast; repeatable"
        ),
    ],
    form: Formatted = Format.TABLE,
    output: Output = None,
) -> None:
    """Say what a step would take if parts of it were faster (Amdahl's law).

    A factor of inf takes a part away; one below 1 makes it slower.
    """
    name, found = shown(file), what_if(file, changes=dict(map(_faster, faster)))
    match form:
        case Format.TABLE:
            show_table(what_if_text(name, found), output)
        case Format.MARKDOWN:
            show_text(what_if_markdown(name, found), output)
        case Format.JSON:
            show_text(what_if_json(name, found), output)


def _export(file: Path, output: Path | None) -> None:
    """Write a whole recording for speedscope, and say in the terminal what is not in it."""
    document, left_out = export(file)
    show_text(document, output)
    if left_out:
        typer.echo(f"{shown(file)}: {clean(left_out, limit=200)}", err=True)


def _show_ranks(files: list[Path], form: TraceFormat, output: Path | None) -> None:
    if form in (TraceFormat.SVG, TraceFormat.SPEEDSCOPE):
        msg = f"--format {form} is of one file: give a single one, or table, markdown or json"
        raise UsageError(msg)
    found = compare_ranks(files)
    match form:
        case TraceFormat.TABLE:
            show_table(ranks_text(found), output)
        case TraceFormat.MARKDOWN:
            show_text(ranks_markdown(found), output)
        case TraceFormat.JSON:
            show_text(ranks_json(found), output)


def _faster(given: str) -> tuple[str, float]:
    """Return a part's name and its factor; a name may have an equals sign itself."""
    name, _, number = given.rpartition("=")
    try:
        factor = float(number)
    except ValueError:
        factor = nan
    if not name or not (factor == inf or 1 / MAX_FACTOR <= factor <= MAX_FACTOR):
        msg = (
            f"--faster {clean(given)}: give NAME=FACTOR with a factor from {1 / MAX_FACTOR:g} to "
            f"{MAX_FACTOR:g}, such as input=2, or input=inf to take it away"
        )
        raise UsageError(msg)
    return name, factor
