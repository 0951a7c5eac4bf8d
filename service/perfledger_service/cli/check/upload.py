"""Uploads a result bundle to the service."""

from pathlib import Path
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.service_target import UploadUrl, service_at


@command(
    examples=(
        "perfledger upload bundle.json",
        "perfledger upload bundle.json --upload-url http://127.0.0.1:8765",
        "perfledger upload bundle.json --json",
    )
)
def upload(
    bundle: Annotated[Path, argument("a result bundle", metavar="BUNDLE")],
    *,
    upload_url: UploadUrl = None,
    output: DocumentOutput,
) -> None:
    """Upload a result bundle to the service.

    Repeating it is safe, and makes the service try again after a failure.
    """
    from perfledger_service.rendering.check.upload import upload_document
    from perfledger_service.usecases.check.upload import upload_bundle_file

    output.write_document(upload_bundle_file(bundle, service_at(upload_url)), upload_document)
