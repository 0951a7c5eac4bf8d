"""Finds the commit that changed a workload."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfledger_service.cli.command import command
from perfledger_service.cli.device_flags import MeasuringDevice, only_chosen_gpu
from perfledger_service.cli.interruption import interruptible
from perfledger_service.cli.option_groups import argument, how, out, what
from perfledger_service.cli.output import DOCUMENT, Format, Formats, Output, check_writable
from perfledger_service.cli.workload_flags import AsvSuite, PytestSuite, suite_of

if TYPE_CHECKING:  # these would make every help slow
    from rich.console import RenderableType

    from perfledger_service.values.commit_bisection import CommitBisection


@command(
    examples=(
        "perfledger history bisect benchmarks.example:square_roots v1.0 main --budget 30m",
        "perfledger history bisect benchmarks.example:square_roots v1.0 main --workloads-from .",
        "perfledger history bisect benchmarks.example:square_roots v1.0 main --json",
    )
)
def bisect(
    workload: Annotated[str, argument("the workload's id", metavar="WORKLOAD")],
    good: Annotated[str, argument("a revision before the change", metavar="GOOD")],
    bad: Annotated[str, argument("a later revision with the change", metavar="BAD")],
    *,
    metric: Annotated[
        str, what("the metric that changed: step_time_p50, cpu_time, peak_memory", metavar="NAME")
    ] = "step_time_p50",
    workloads_from: Annotated[
        str,
        what(
            "use the workloads of this revision or folder on all commits", metavar="REVISION|FOLDER"
        ),
    ] = "",
    asv: AsvSuite = False,
    pytest: PytestSuite = False,
    device: MeasuringDevice = None,
    budget: Annotated[
        str | None, how("time limit for measuring", metavar="DURATION", default="10m")
    ] = None,
    build: Annotated[
        str | None,
        how("shell command that installs a checkout into an environment", metavar="COMMAND"),
    ] = None,
    exclude_device: Annotated[
        list[str] | None,
        how("refuse to measure on the device of this name; repeatable", metavar="NAME"),
    ] = None,
    isolated: Annotated[
        bool, how("a separate environment for each commit", flag="--isolated")
    ] = False,
    output: Annotated[Output, Formats(*DOCUMENT, Format.SVG)],
    save_bundle: Annotated[
        Path | None,
        out("also write the bundle of the found commit's check to this file", metavar="FILE"),
    ] = None,
) -> None:
    """Find the commit that changed a workload, by measuring a few commits in pairs.

    It bisects the first-parent commits from GOOD to BAD, accounts for noise, and skips commits that
    do not build or run. It then checks the found commit against its parent, with causes.

    Exit codes: 0 one commit was found, 2 usage or configuration, 3 several commits remain, 4
    internal error, 5 GOOD and BAD do not differ, 6 an excluded device.
    """
    from rich.console import Console

    from perfledger_service.cli.progress import TerminalProgress
    from perfledger_service.rendering.history.bisect_plot import bisection_svg
    from perfledger_service.usecases.history.bisect import BisectRequest, bisect as run_bisect
    from perfledger_service.usecases.inputs.bundle_files import prepare_spool, spool_bundle

    if output.output is not None:
        check_writable(output.output)
    prepare_spool(os.environ, also=save_bundle)
    flags = {
        "suite": suite_of(is_asv=asv, is_pytest=pytest),
        "excluded_devices": exclude_device,
        "budget": budget,
        "build": build,
        "isolated": isolated or None,
    }
    request = BisectRequest(
        workload=workload, good=good, bad=bad, metric=metric, workloads_from=workloads_from
    )
    with (
        interruptible(),
        only_chosen_gpu(device) as kind,
        TerminalProgress(Console(stderr=True)) as watcher,
    ):
        result, bundle = run_bisect(
            Path(), request, flags={**flags, "device": kind}, progress=watcher
        )
    spooled = spool_bundle(bundle, os.environ, also=save_bundle) if bundle is not None else None
    output.write(
        result,
        {
            Format.TABLE: _table,
            Format.MARKDOWN: _markdown,
            Format.JSON: _json,
            Format.CSV: _csv,
            Format.SVG: bisection_svg,
        },
    )
    if spooled is not None:
        typer.echo(f"bundle of the found commit: {spooled}", err=True)
    raise typer.Exit(result.exit_code)


def _table(result: "CommitBisection") -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    from perfledger_service.rendering.check.terminal import report_table
    from perfledger_service.rendering.history.bisect import bisection_document
    from perfledger_service.rendering.layout.writers import to_terminal

    parts: list[RenderableType] = [to_terminal(bisection_document(result))]
    if result.report is not None:
        parts += [Text(), report_table(result.report)]
    return Group(*parts)


def _markdown(result: "CommitBisection") -> str:
    from perfledger_service.rendering.check.comment import comment
    from perfledger_service.rendering.history.bisect import bisection_document
    from perfledger_service.rendering.layout.writers import to_markdown

    text = to_markdown(bisection_document(result))
    return text if result.report is None else f"{text}\n{comment(result.report)}"


def _json(result: "CommitBisection") -> str:
    from perfledger_service.rendering.check.report_json import report_json
    from perfledger_service.rendering.history.bisect import bisection_document
    from perfledger_service.rendering.layout.writers import to_json

    check = None if result.report is None else json.loads(report_json(result.report))
    return to_json(bisection_document(result, check=check))


def _csv(result: "CommitBisection") -> str:
    from perfledger_service.rendering.history.bisect import bisection_document
    from perfledger_service.rendering.layout.writers import to_csv

    return to_csv(bisection_document(result))
