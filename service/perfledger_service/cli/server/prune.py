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
        what("retention period of a class of data, instead of its setting", metavar="CLASS=DAYS"),
    ] = None,
    is_dry_run: Annotated[
        bool, how("print what would be removed, and remove nothing", flag="--dry-run")
    ] = False,
    is_to_vacuum: Annotated[
        bool, how("then shrink SQLite's file to its content", flag="--vacuum")
    ] = False,
    output: DocumentOutput,
) -> None:
    """Remove data after its retention period.

    PERFLEDGER_KEEP_CLASS_DAYS sets the period of a class; without it, the class is kept for ever.
    Data that judging, reviews, pages and open pull requests still need is never removed. The audit
    log records what was removed. The service itself prunes once a day.
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
