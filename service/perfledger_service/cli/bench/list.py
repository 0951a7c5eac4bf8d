"""Lists the registered workloads."""

from pathlib import Path
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, what
from perfledger_service.cli.output import DocumentOutput


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
    k: Annotated[
        str,
        what(
            "only workloads whose id or tags fit, as in pytest: 'gpt and not slow'",
            metavar="EXPRESSION",
            flag="-k",
        ),
    ] = "",
    output: DocumentOutput,
) -> None:
    """List the registered workloads of the working folder."""
    from perfledger_service.rendering.bench.list import workloads_document
    from perfledger_service.usecases.bench.list import list_workloads as discover_workloads
    from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice

    choice = WorkloadChoice(expression=k)
    output.write_document(discover_workloads(folder, choice), workloads_document)
