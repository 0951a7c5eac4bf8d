"""Announces a check on its pull request or merge group."""

from pathlib import Path
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import what
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.service_target import UploadUrl, service_at
from perfledger_service.errors import UsageError


@command(
    examples=(
        "perfledger announce --pull-request 7",
        "perfledger announce --base HEAD~1 --head HEAD --pull-request 7",
        "perfledger announce --base HEAD~1 --merge-group",
    )
)
def announce(
    *,
    pull_request: Annotated[
        int | None,
        what("the pull request's number", metavar="NUMBER", environment="PERFLEDGER_PULL_REQUEST"),
    ] = None,
    merge_group: Annotated[
        bool,
        what(
            "the commit is the head of a merge group, not of a pull request", flag="--merge-group"
        ),
    ] = False,
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
    """Announce a check on its pull request or merge group, before it measures.

    The service shows the check as in progress, and as not measured if no report arrives by its
    deadline. Repeating it is safe. `perfledger check` does this itself if a service is configured.
    """
    from perfledger_service.rendering.check.announce import announced_document
    from perfledger_service.usecases.check.announce import announce_check

    if (pull_request is None) != merge_group:
        msg = "name the pull request with --pull-request NUMBER, or say --merge-group, not both"
        raise UsageError(msg)
    announced = announce_check(
        Path(), service_at(upload_url), base=base, head=head, pull_request=pull_request
    )
    output.write_document(announced, announced_document)
