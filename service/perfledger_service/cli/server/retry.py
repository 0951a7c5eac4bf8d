"""Retries uploads that failed or wait for GitHub."""

from datetime import UTC, datetime
from getpass import getuser
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import open_store
from perfledger_service.values.people.person import Actor


@command(
    examples=(
        "perfledger server retry",
        "perfledger server retry --json",
    )
)
def retry(
    uploads: Annotated[
        list[str] | None,
        argument("ids of uploads, from the addresses of their pages", metavar="UPLOAD"),
    ] = None,
    *,
    output: DocumentOutput,
) -> None:
    """Retry the named uploads now, or all that failed or wait for GitHub.

    The running service retries them within half a minute.
    """
    from perfledger_service.rendering.server.retry import RetriedUploadRow, retried_document

    with open_store() as engine:
        from perfledger_service.usecases.uploads.retry import retry_uploads

        actor = Actor(name=getuser())
        chosen_uploads = retry_uploads(engine, uploads or (), actor=actor, now=datetime.now(UTC))
    rows = [
        RetriedUploadRow(
            upload_id=upload.id,
            repository=upload.repository,
            pull_request=upload.pull_request,
            status=upload.status,
            reason=upload.reason,
        )
        for upload in chosen_uploads
    ]
    output.write_document(rows, retried_document)
