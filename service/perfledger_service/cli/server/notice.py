"""Sets where a project's notices go, and lists them."""

from datetime import UTC, datetime
from getpass import getuser
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how, what
from perfledger_service.cli.option_values import Repository
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import open_store
from perfledger_service.values.notices.notice import NoticeChannel, NoticeTarget
from perfledger_service.values.people.person import Actor

Channel = Annotated[NoticeChannel, argument("webhook, mail or issue", metavar="CHANNEL")]
Address = Annotated[
    str, argument("a webhook's name in the settings, or an email address", metavar="ADDRESS")
]


@command(
    examples=(
        "perfledger server notice add octo/models webhook chat",
        "perfledger server notice add octo/models mail perf@example.com --weekly",
        "perfledger server notice add octo/models issue --early --hourly 3",
    )
)
def add(
    repository: Repository,
    channel: Channel,
    address: Address = "",
    *,
    early: Annotated[
        bool, what("also regressions that no A/B run confirmed yet", flag="--early")
    ] = False,
    weekly: Annotated[
        bool, what("also the triage report, on Mondays at 08:00 UTC", flag="--weekly")
    ] = False,
    hourly: Annotated[
        int, how("most events an hour; the others are only counted", metavar="COUNT", minimum=1)
    ] = 10,
    output: DocumentOutput,
) -> None:
    """Send a notice of each new regression of the default branch to a target.

    A second notice follows when the regression ends. Existing regressions are not sent. Adding a
    target again changes its options.
    """
    from perfledger_service.rendering.server.notice import notices_document

    target = NoticeTarget(
        channel=channel, address=address, is_early=early, is_weekly=weekly, hourly=hourly
    )
    with open_store() as engine:
        from perfledger_service.usecases.notices.notice import set_target

        actor = Actor(name=getuser())
        overview = set_target(engine, repository, target, actor=actor, now=datetime.now(UTC))
    output.write_document(overview, notices_document)


@command(
    examples=(
        "perfledger server notice remove octo/models webhook chat",
        "perfledger server notice remove octo/models issue --json",
    )
)
def remove(
    repository: Repository, channel: Channel, address: Address = "", *, output: DocumentOutput
) -> None:
    """Stop sending notices to a target, and forget which were sent."""
    from perfledger_service.rendering.server.notice import notices_document

    with open_store() as engine:
        from perfledger_service.usecases.notices.notice import end_target

        actor = Actor(name=getuser())
        now = datetime.now(UTC)
        overview = end_target(engine, repository, channel, address, actor=actor, now=now)
    output.write_document(overview, notices_document)


@command(
    examples=(
        "perfledger server notice list octo/models",
        "perfledger server notice list octo/models --json",
    )
)
def list_notices(repository: Repository, *, output: DocumentOutput) -> None:
    """List targets of notices, the newest notices, and why a notice is waiting or failed."""
    from perfledger_service.rendering.server.notice import notices_document

    with open_store() as engine:
        from perfledger_service.usecases.notices.notice import notice_overview

        overview = notice_overview(engine, repository)
    output.write_document(overview, notices_document)
