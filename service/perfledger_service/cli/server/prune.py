"""Removes data after its retention period."""

from getpass import getuser
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import how, what
from perfledger_service.cli.option_values import kept_days
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import open_store
from perfledger_service.values.people.person import Actor


@command(
    examples=(
        "perfledger server prune --dry-run --keep bundles=90 --keep samples=180",
        "perfledger server prune --vacuum",
        "perfledger server prune --dry-run --json",
    )
)
def prune(
    *,
    keep: Annotated[
        list[str] | None,
        what("for how long to keep a class of data, in place of its setting", metavar="CLASS=DAYS"),
    ] = None,
    is_dry_run: Annotated[
        bool, how("print what would be removed, and remove nothing", flag="--dry-run")
    ] = False,
    is_to_vacuum: Annotated[
        bool, how("then write SQLite's file again, without its free space", flag="--vacuum")
    ] = False,
    output: DocumentOutput,
) -> None:
    """Remove data after its retention period.

    The period of a class is its setting PERFLEDGER_KEEP_CLASS_DAYS, without which it is kept for
    ever. What judging, reviews, pages and open pull requests read is never removed, however old it
    is. The audit log says what was removed. The service does the same once a day.
    """
    from perfledger_service.rendering.server.prune import retention_document
    from perfledger_service.settings.service import service_settings

    settings = service_settings()
    overrides = kept_days(keep or ())
    with open_store() as engine:
        from perfledger_service.github.client import open_github
        from perfledger_service.usecases.server.prune import run_retention
        from perfledger_service.usecases.server.retention_periods import retention_policy

        report = run_retention(
            engine,
            retention_policy(settings, overrides),
            actor=Actor(name=getuser()),
            pull_requests=open_github(
                api_url=settings.github_api_url,
                token=settings.github_token,
                app_id=settings.github_app_id,
                private_key=settings.github_private_key,
            ),
            is_dry_run=is_dry_run,
            is_to_vacuum=is_to_vacuum,
        )
    output.write_document(report, retention_document)
