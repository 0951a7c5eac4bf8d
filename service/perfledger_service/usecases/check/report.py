"""Reports on a bundle's file."""

from datetime import UTC, datetime
from pathlib import Path

from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.inputs import bundle_files
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.values.report import Report


def report_of_file(path: Path) -> Report:
    """Judge, explain and price a bundle from its file."""
    bundle = bundle_files.read_bundle_file(path)
    with translate_errors():
        return build_report(bundle, today=datetime.now(UTC).date(), is_local=True)
