"""Sets up a repository for perfledger."""

from pathlib import Path
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument
from perfledger_service.cli.output import DocumentOutput


@command(examples=("perfledger init", "perfledger init ../my-model", "perfledger init --json"))
def init(
    folder: Annotated[Path, argument("the repository", metavar="FOLDER")] = Path(),
    *,
    output: DocumentOutput,
) -> None:
    """Write a configuration, an example workload and a GitHub workflow that fit the repository.

    The files go into its top-level folder. Existing files are kept.
    """
    from perfledger_service.rendering.check.init import setup_document
    from perfledger_service.usecases.check.init import write_setup

    output.write_document(write_setup(folder), setup_document)
