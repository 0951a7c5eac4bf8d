"""Measures and judges a change of the repository."""

import os
import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfledger.metrics import STEP_TIME
from perfledger.rounding import integer
from perfledger_service.cli.command import command
from perfledger_service.cli.device_flags import MeasuringDevice, only_chosen_gpu
from perfledger_service.cli.interruption import interruptible
from perfledger_service.cli.option_groups import how, out, what
from perfledger_service.cli.option_values import REPOSITORY, repository_name
from perfledger_service.cli.output import Format, Formats, Output, check_writable
from perfledger_service.cli.service_target import UploadUrl
from perfledger_service.cli.workload_flags import AsvSuite, Expression, PytestSuite, suite_of
from perfledger_service.errors import PerfledgerError, UsageError

if TYPE_CHECKING:  # these would make every help slow
    from perfledger.bundle import Bundle
    from perfledger_service.cli.progress import TerminalProgress
    from perfledger_service.usecases.check.measurement import CheckRequest
    from perfledger_service.usecases.inputs.upload_target import UploadTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFlags:
    """The change to judge."""

    base: Annotated[
        str,
        what(
            "compare with the merge-base of this revision",
            metavar="REVISION",
            default="the default branch",
        ),
    ] = ""
    head: Annotated[
        str, what("the revision to judge", metavar="REVISION", default="the working folder")
    ] = ""
    workload: Annotated[
        list[str] | None, what("only workloads whose id matches; repeatable", metavar="GLOB")
    ] = None
    workloads_from: Annotated[
        str,
        what(
            "use the workloads of this revision or folder on both sides", metavar="REVISION|FOLDER"
        ),
    ] = ""
    k: Expression = ""
    asv: AsvSuite = False
    pytest: PytestSuite = False
    repository: Annotated[
        str,
        what(
            "the repository on GitHub",
            metavar=REPOSITORY,
            environment="GITHUB_REPOSITORY",
            parser=repository_name,
        ),
    ] = ""
    pull_request: Annotated[
        int | None,
        what("the pull request's number", metavar="NUMBER", environment="PERFLEDGER_PULL_REQUEST"),
    ] = None

    @property
    def settings(self) -> dict[str, str | None]:
        """Return the settings that these options set."""
        return {"suite": suite_of(is_asv=self.asv, is_pytest=self.pytest)}

    @property
    def request(self) -> "CheckRequest":
        """Return the change to check."""
        from perfledger_service.usecases.check.measurement import CheckRequest
        from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice

        return CheckRequest(
            base=self.base,
            head=self.head,
            choice=WorkloadChoice(globs=tuple(self.workload or ()), expression=self.k),
            workloads_from=self.workloads_from,
            repository=self.repository,
            pull_request=self.pull_request,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuringFlags:
    """The device and the limits of a measurement."""

    device: MeasuringDevice = None
    budget: Annotated[
        str | None,
        how("time limit without builds and waits for others", metavar="DURATION", default="10m"),
    ] = None
    budget_usd: Annotated[
        str | None, how("cost limit for measuring; needs --device-price", metavar="USD")
    ] = None
    device_price: Annotated[
        str | None,
        how("USD per hour of this machine's device, or its purchase option", metavar="USD|OPTION"),
    ] = None
    build: Annotated[
        str | None,
        how("shell command that installs a checkout into an environment", metavar="COMMAND"),
    ] = None
    exclude_device: Annotated[
        list[str] | None,
        how("refuse to measure on the device of this name; repeatable", metavar="NAME"),
    ] = None
    isolated: Annotated[bool, how("a separate environment for each side", flag="--isolated")] = (
        False
    )
    no_skip: Annotated[
        bool, how("also measure workloads whose code is the same", flag="--no-skip")
    ] = False
    resume: Annotated[
        bool, how("resume the interrupted check of these revisions", flag="--resume")
    ] = False
    spreads: Annotated[
        Path | None, how("a file of `history spreads`", metavar="FILE", default="the service's")
    ] = None

    @property
    def settings(self) -> dict[str, str | bool | list[str] | None]:
        """Return the settings that these options set."""
        return {
            "device": self.device,
            "excluded_devices": self.exclude_device,
            "build": self.build,
            "isolated": self.isolated or None,
            "skip": False if self.no_skip else None,
            "budget": self.budget,
            "budget_usd": self.budget_usd,
            "device_price": self.device_price,
        }


@command(
    examples=(
        "perfledger check",
        "perfledger check -k 'example and not slow' --budget 2m",
        "perfledger check --base HEAD~1 --head HEAD --workloads-from HEAD --format markdown",
    )
)
def check(
    *,
    change: ChangeFlags,
    measuring: MeasuringFlags,
    output: Annotated[Output, Formats(Format.TABLE, Format.MARKDOWN, Format.JSON)],
    save_bundle: Annotated[
        Path | None, out("also write the result bundle to this file", metavar="FILE")
    ] = None,
    save: Annotated[
        str, out("also keep the bundle under this name, for `compare NAME`", metavar="NAME")
    ] = "",
    upload_url: UploadUrl = None,
) -> None:
    """Measure, judge, explain and price a change of this repository.

    Exit codes: 0 no regression, 1 regression or above a cost limit, 2 usage or configuration, 3
    undecided, not measured or a cost to approve, 4 internal error, 6 an excluded device; 129, 130
    and 143 when a signal ends it.
    """
    from rich.console import Console

    from perfledger_service.cli.check.report import show_report
    from perfledger_service.cli.progress import TerminalProgress
    from perfledger_service.settings.service import actions_settings, upload_settings
    from perfledger_service.usecases.check.check import check as run_check
    from perfledger_service.usecases.inputs.bundle_files import (
        named_bundle_path,
        prepare_spool,
        spool_bundle,
    )
    from perfledger_service.usecases.inputs.upload_target import upload_target

    target = upload_target(upload_url, upload_settings(), actions_settings())
    if output.output is not None:
        check_writable(output.output)
    if save and save_bundle is not None:
        msg = "--save and --save-bundle cannot be combined: give one of them"
        raise UsageError(msg)
    also = named_bundle_path(save, os.environ) if save else save_bundle
    prepare_spool(os.environ, also=also)
    spooled: list[Path] = []
    with (
        interruptible(sys.argv[1:]),
        only_chosen_gpu(measuring.device) as kind,
        TerminalProgress(Console(stderr=True)) as watcher,
    ):
        bundle, report = run_check(
            Path(),
            replace(change.request, device=measuring.device or "", is_resumed=measuring.resume),
            flags={**change.settings, **measuring.settings, "device": kind},
            progress=watcher,
            service=target,
            history=measuring.spreads or target,
            keep=lambda bundle: spooled.append(spool_bundle(bundle, os.environ, also=also)),
        )
    show_report(report, output)
    typer.echo(_times(watcher, bundle), err=True)
    typer.echo(f"bundle: {spooled[0]}", err=True)
    if target is not None:
        _upload(spooled[0], target)
    raise typer.Exit(report.exit_code)


def _times(watcher: "TerminalProgress", bundle: "Bundle") -> str:
    """Return how long each stage took, and how much of that was measured steps."""
    times = watcher.stage_times()
    stages = ", ".join(f"{name} {integer(seconds)} s" for name, seconds in times)
    steps_s = sum(
        run.evidence.seconds_of(run.samples.get(STEP_TIME.name, ())) for run in bundle.runs
    )
    total_s = sum(seconds for _, seconds in times)
    return f"took {integer(total_s)} s: {stages}; {integer(steps_s)} s of that are measured steps"


def _upload(bundle: Path, target: "UploadTarget") -> None:
    """Upload the bundle, which is already saved; exit with 4 if the service rejects it."""
    from perfledger_service.usecases.check.upload import upload_bundle_file
    from perfledger_service.values.report import ExitCode

    try:
        page = upload_bundle_file(bundle, target)
    except PerfledgerError as error:
        retry = f"the report above is valid; to retry: perfledger upload {shlex.quote(str(bundle))}"
        typer.echo(f"perfledger: not uploaded: {error}; {retry}", err=True)
        raise typer.Exit(ExitCode.INTERNAL) from None
    typer.echo(f"page: {page}", err=True)
