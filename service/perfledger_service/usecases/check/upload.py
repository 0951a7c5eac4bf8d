"""Uploads a bundle's file to a service."""

from pathlib import Path

from perfledger_runners.bundles.upload import upload
from perfledger_service.usecases.inputs.bundle_files import read_bundle_file
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.upload_target import UploadTarget


def upload_bundle_file(path: Path, target: UploadTarget) -> str:
    """Upload a bundle's file and return the address of its page."""
    read_bundle_file(path)  # an invalid bundle fails here, without a network request
    with translate_errors():
        return upload(path, target.url, target.credential()).url
