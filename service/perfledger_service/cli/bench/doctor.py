"""Examines how fit this machine is to measure on."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfledger_service.cli.command import command
from perfledger_service.cli.device_flags import MeasuringDevice, only_chosen_gpu
from perfledger_service.cli.interruption import interruptible
from perfledger_service.cli.option_groups import argument, how
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.service_target import ServiceUrl
from perfledger_service.errors import SettingsError, UsageError

if TYPE_CHECKING:  # this would make every help slow
    from perfledger_service.usecases.bench.doctor import DoctorRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorFlags:
    """Duration of measuring the same code on both sides."""

    pairs: Annotated[
        int, how("most pairs of the same code; 0 only examines the machine", metavar="COUNT")
    ] = 10
    budget: Annotated[str, how("time limit for measuring", metavar="DURATION")] = "2m"
    device: MeasuringDevice = None
    fix: Annotated[
        bool,
        how(
            "only print the commands for settings that an administrator should change; none "
            "are run",
            flag="--fix",
        ),
    ] = False

    def request(self, workload: str) -> "DoctorRequest":
        """Return the request; raises UsageError."""
        from perfledger_service.settings.check import seconds
        from perfledger_service.usecases.bench.doctor import DoctorRequest

        try:
            budget_s = seconds(self.budget)
        except ValueError as error:
            msg = f"--budget {error}"
            raise UsageError(msg) from error
        return DoctorRequest(
            workload=workload,
            pairs=0 if self.fix else self.pairs,
            budget_s=budget_s,
            has_fixes=self.fix,
        )


@command(
    examples=(
        "perfledger bench doctor",
        "perfledger bench doctor --fix",
        "perfledger bench doctor benchmarks.example:square_roots --pairs 20 --budget 5m",
    )
)
def doctor(
    workload: Annotated[
        str,
        argument("what to measure", metavar="WORKLOAD", default="the first registered workload"),
    ] = "",
    *,
    doctor_flags: DoctorFlags,
    upload_url: ServiceUrl = None,
    output: DocumentOutput,
) -> None:
    """Show what disturbs measurements on this machine, and the smallest change it can detect.

    It measures the same code on both sides, so every difference is noise. If a service is
    configured, it reports whether the device is in quarantine. Exits with 3 if nothing
    could be measured.
    """
    from rich.console import Console

    from perfledger_service.cli.progress import PairsBar
    from perfledger_service.rendering.bench.doctor import doctor_document
    from perfledger_service.settings.service import actions_settings, upload_settings
    from perfledger_service.usecases.bench.doctor import examine_machine
    from perfledger_service.usecases.inputs.upload_target import upload_target
    from perfledger_service.values.report import ExitCode

    service = None
    try:
        service = upload_target(upload_url, upload_settings(), actions_settings())
    except SettingsError as error:  # even without a token, a machine can be examined
        typer.echo(
            f"could not ask the service whether the device is in quarantine: {error}", err=True
        )
    request = doctor_flags.request(workload)
    with (
        interruptible(),
        only_chosen_gpu(doctor_flags.device) as kind,
        PairsBar(Console(stderr=True), most=request.pairs) as progress,
    ):
        request = replace(request, device=kind)
        view = examine_machine(Path(), request, service=service, progress=progress)
    output.write_document(view, doctor_document)
    if view.noise is not None and not view.noise.metrics:
        raise typer.Exit(ExitCode.UNCERTAIN)
