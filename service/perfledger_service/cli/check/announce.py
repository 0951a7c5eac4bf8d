"""Announces a check on its pull request."""

from pathlib import Path
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import what
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.service_target import UploadUrl, service_at


@command(
    examples=(
        "perfledger announce --pull-request 7",
        "perfledger announce --base HEAD~1 --head HEAD --pull-request 7",
        "perfledger announce --pull-request 7 --json",
    )
)
def announce(
    *,
    pull_request: Annotated[
        int,
        what("the pull request's number", metavar="NUMBER", environment="PERFLEDGER_PULL_REQUEST"),
    ],
    base: Annotated[
        str,
        what(
            "compare with the merge-base of this revision",
            metavar="REVISION",
            default="the default branch",
        ),
    ] = "",
    head: Annotated[str, what("the commit to judge", metavar="REVISION")] = "HEAD",
    upload_url: UploadUrl = None,
    output: DocumentOutput,
) -> None:
    """Announce a check on its pull request, before it measures.

    The service shows the check as in progress, and as not measured once its deadline has passed
    without a report. Repeating it is safe. `perfledger check` does this itself
    if a service is configured.
    """
    from perfledger_service.rendering.check.announce import announced_document
    from perfledger_service.usecases.check.announce import announce_check

    announced = announce_check(
        Path(), service_at(upload_url), base=base, head=head, pull_request=pull_request
    )
    output.write_document(announced, announced_document)
