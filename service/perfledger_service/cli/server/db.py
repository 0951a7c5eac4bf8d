"""Upgrades the service's database."""

from perfledger_service.cli.command import command
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import server_modules


@command(
    examples=(
        "perfledger server db upgrade",
        "perfledger server db upgrade --json",
        "PERFLEDGER_DATABASE_URL=sqlite:///ci.db perfledger server db upgrade",
    )
)
def upgrade(*, output: DocumentOutput) -> None:
    """Upgrade the service's database to the newest version.

    Repeating it is safe. The database is that of PERFLEDGER_DATABASE_URL.
    """
    from perfledger_service.rendering.server.db import upgrade_document
    from perfledger_service.settings.service import service_settings

    with server_modules():
        from perfledger_service.usecases.server.db import upgrade_database
    output.write_document(upgrade_database(service_settings().database_url), upgrade_document)
