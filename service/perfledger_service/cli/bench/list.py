"""Lists the registered workloads."""

from pathlib import Path
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument
from perfledger_service.cli.output import DocumentOutput


@command(examples=("perfledger bench list", "perfledger bench list --json"))
def list_workloads(
    folder: Annotated[Path, argument("the repository", metavar="FOLDER")] = Path(),
    *,
    output: DocumentOutput,
) -> None:
    """List the registered workloads of the working folder."""
    from perfledger_service.rendering.bench.list import workloads_document
    from perfledger_service.usecases.bench.list import list_workloads as discover_workloads

    output.write_document(discover_workloads(folder), workloads_document)
