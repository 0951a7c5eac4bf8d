"""Sets a repository up for perfledger."""

from pathlib import Path
from typing import Annotated

import typer

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument


@command(examples=("perfledger init", "perfledger init ../my-model"))
def init(folder: Annotated[Path, argument("the repository", metavar="FOLDER")] = Path()) -> None:
    """Write a configuration, an example workload and a GitHub workflow that fit the repository.

    They go into its top folder. Existing files are kept.
    """
    from perfledger_service.rendering.check.init import advice, summary
    from perfledger_service.usecases.check.init import write_setup

    setup = write_setup(folder)
    typer.echo(summary(setup.facts))
    for written in setup.files:
        state = "wrote" if written.is_new else "kept the existing"
        typer.echo(f"{state} {written.path}")
    for sentence in advice(setup.facts):
        typer.echo(sentence)
    typer.echo("Commit these files, change something and run: perfledger check")
