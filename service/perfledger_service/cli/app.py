"""Assembles the command line: its groups, --version and shell completion."""

from typing import Annotated

import typer

from perfledger_service.cli.command import HELP_NAMES
from perfledger_service.cli.groups import ROOT, LazyGroup

app = typer.Typer(
    cls=LazyGroup,
    help=ROOT.sentence,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=HELP_NAMES,
)


def _print_version(is_asked: bool) -> None:
    if not is_asked:
        return
    from importlib.metadata import version

    typer.echo(f"perfledger {version('perfledger')}")
    raise typer.Exit


@app.callback()
def perfledger(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Take the options of the command line as a whole."""
