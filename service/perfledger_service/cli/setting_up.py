"""Commands that set a repository up and show what is in force."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from perfledger_service.pages.escape import clean
from perfledger_service.settings import (
    check_settings,
    origins_of,
    price_settings,
    service_settings,
    upload_settings,
)
from perfledger_service.usecases.check import list_workloads
from perfledger_service.usecases.setting_up import configured_table, init as write_files, root_of

MAX_CELL = 400


def init(
    folder: Annotated[Path, typer.Argument(help="the repository")] = Path(),
) -> None:
    """Write a configuration, an example workload and a GitHub workflow."""
    for written in write_files(folder):
        state = "wrote" if written.is_new else "left alone, it is there:"
        typer.echo(f"{state} {written.path}")
    typer.echo("Commit these, change something and run: perfledger check")


def workloads(
    folder: Annotated[Path, typer.Argument(help="the repository")] = Path(),
) -> None:
    """List the registered workloads of the working folder."""
    found = list_workloads(folder)
    table = Table("workload", "unit", "units per step", "device", "framework", box=None)
    for spec in found.workloads:
        cells = (spec.id, spec.unit, f"{spec.units_per_step:g}", spec.device, spec.framework)
        table.add_row(*map(_text, cells))
    console = Console()
    console.print(table)
    for file in found.broken:
        words = f"not importable: {clean(file.path)}: {clean(file.detail, limit=500)}"
        console.print(words, style="red", markup=False)


def config_show(
    folder: Annotated[Path, typer.Argument(help="the repository")] = Path(),
) -> None:
    """Print every setting with its value and where it comes from; secrets are hidden.

    The file is the working folder's: a check of a change uses the one of its base commit.
    """
    name, values = configured_table(root_of(folder)) or ("", None)
    _, check = check_settings(flags={}, table=values, table_name=name)
    table = Table("setting", "value", "from", box=None)
    for group in (
        check,
        origins_of(service_settings()),
        origins_of(upload_settings()),
        origins_of(price_settings()),
    ):
        for setting in group:
            table.add_row(*map(_text, (setting.name, setting.value, setting.origin)))
        table.add_section()
    Console().print(table)
    typer.echo("perfledger check reads the configuration file of the base commit")


def _text(foreign: str) -> Text:
    """Return text that others wrote as text: brackets in it are no markup."""
    return Text(clean(foreign, limit=MAX_CELL) if foreign else "")
