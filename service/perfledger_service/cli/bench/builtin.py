"""Measures the canaries of this machine."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from perfledger_service.cli.command import command
from perfledger_service.cli.device_flags import MeasuringDevice, only_chosen_gpu
from perfledger_service.cli.interruption import interruptible
from perfledger_service.cli.option_groups import argument, how, out, what
from perfledger_service.cli.option_values import REPOSITORY, refuse_unused, repository_name
from perfledger_service.cli.output import DocumentOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryFlags:
    """How the canaries are measured."""

    processes: Annotated[int, how("fresh processes for each canary", metavar="COUNT")] = 3
    device: MeasuringDevice = None


@command(
    examples=(
        "perfledger bench builtin",
        "perfledger bench builtin matmul --processes 2 --json",
        "perfledger bench builtin 'torch_canaries:*' --save-bundle canaries.json",
    )
)
def builtin(
    pattern: Annotated[
        str, argument("name or pattern of the canaries", metavar="CANARY", default="all")
    ] = "",
    *,
    canary_flags: CanaryFlags,
    repository: Annotated[
        str,
        what(
            "the repository to name in the bundle",
            metavar=REPOSITORY,
            default="that of the remote origin",
            parser=repository_name,
        ),
    ] = "",
    save_bundle: Annotated[
        Path | None, out("also write a bundle for `perfledger upload` to this file", metavar="FILE")
    ] = None,
    output: DocumentOutput,
) -> None:
    """Measure built-in workloads, and compare them with what the device should reach.

    They run in torch and JAX, with the repository's Python: matrix products, attention, copies,
    all-reduce, model blocks, a data loader. Upload the bundle, and the service compares the
    device with its own history and its siblings. Exits with 1 if one is slow, with 3 if none
    could be measured.
    """
    from rich.console import Console

    from perfledger_service.cli.progress import TerminalProgress
    from perfledger_service.rendering.bench.builtin import canaries_document
    from perfledger_service.usecases.bench.builtin import CanaryRequest, measure_canaries
    from perfledger_service.usecases.bench.canary_bundle import canary_bundle, open_clone
    from perfledger_service.usecases.inputs.bundle_files import prepare_spool, spool_bundle
    from perfledger_service.values.doctor_views import CanaryState
    from perfledger_service.values.report import ExitCode

    if save_bundle is None:
        refuse_unused(
            {"--repository": bool(repository)}, "only a bundle names it: add --save-bundle"
        )
    request = CanaryRequest(pattern=pattern, processes=canary_flags.processes)
    clone = None
    if save_bundle is not None:
        prepare_spool(os.environ, also=save_bundle)
        clone = open_clone(Path())
    with (
        interruptible(),
        only_chosen_gpu(canary_flags.device) as kind,
        TerminalProgress(Console(stderr=True)) as progress,
    ):
        view = measure_canaries(Path(), replace(request, device=kind), progress=progress)
    output.write_document(view, canaries_document)
    if clone is not None:
        bundle = canary_bundle(clone, view, repository=repository)
        typer.echo(f"bundle: {spool_bundle(bundle, os.environ, also=save_bundle)}", err=True)
    states = {each.state for each in view.results}
    if CanaryState.SLOW in states:
        raise typer.Exit(ExitCode.REGRESSION)
    if states == {CanaryState.NOT_MEASURED}:
        raise typer.Exit(ExitCode.UNCERTAIN)
