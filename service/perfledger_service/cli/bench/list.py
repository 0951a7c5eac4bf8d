"""Lists the registered workloads."""

from pathlib import Path
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.interruption import interruptible
from perfledger_service.cli.option_groups import argument
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.workload_flags import AsvSuite, Expression, PytestSuite, suite_of


@command(
    examples=(
        "perfledger bench list",
        "perfledger bench list -k 'train and not slow'",
        "perfledger bench list --json",
    )
)
def list_workloads(
    folder: Annotated[Path, argument("the repository", metavar="FOLDER")] = Path(),
    *,
    k: Expression = "",
    asv: AsvSuite = False,
    pytest: PytestSuite = False,
    output: DocumentOutput,
) -> None:
    """List the registered workloads of the working folder."""
    from rich.console import Console

    from perfledger_service.cli.progress import TerminalProgress
    from perfledger_service.rendering.bench.list import workloads_document
    from perfledger_service.usecases.bench.list import list_workloads as discover_workloads
    from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice

    suite = suite_of(is_asv=asv, is_pytest=pytest)
    choice = WorkloadChoice(expression=k)
    with interruptible(), TerminalProgress(Console(stderr=True)) as progress:
        workloads = discover_workloads(folder, choice, flags={"suite": suite}, stage=progress.stage)
    output.write_document(workloads, workloads_document)
