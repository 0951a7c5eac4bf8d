"""Shows every setting with its origin."""

from pathlib import Path
from typing import Annotated

import typer

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.errors import UsageError


@command(examples=("perfledger config show", "perfledger config show --json"))
def config_show(
    folder: Annotated[Path, argument("the repository", metavar="FOLDER")] = Path(),
    *,
    output: DocumentOutput,
) -> None:
    """Show every setting with its value and where the value comes from.

    Secrets are hidden. It reads the file in the working folder; a check reads that of the base
    commit.
    """
    from perfledger_service.rendering.check.config_show import settings_document
    from perfledger_service.settings.service import (
        price_settings,
        service_settings,
        upload_settings,
    )
    from perfledger_service.settings.sources import check_settings, origins_of
    from perfledger_service.usecases.inputs.repository_config import configured_table, root_of

    if not folder.is_dir():
        msg = f"{folder} is not a folder: give the folder of a repository"
        raise UsageError(msg)
    name, values = configured_table(root_of(folder)) or ("", None)
    _, check = check_settings(flags={}, table=values, table_name=name)
    groups = (
        check,
        origins_of(service_settings()),
        origins_of(upload_settings()),
        origins_of(price_settings()),
    )
    output.write_document(groups, settings_document)
    typer.echo("perfledger check reads the configuration file of the base commit", err=True)
