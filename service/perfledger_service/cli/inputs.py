"""Files that were named, or a source of what was imported into the store, in; their bytes out."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from perfledger_cost_models.job_log import MAX_LOG_BYTES
from perfledger_cost_models.load_curve import LoadCurve
from perfledger_cost_models.usage import MAX_USAGE_BYTES
from perfledger_service.cli.serving import server_modules
from perfledger_service.errors import UsageError
from perfledger_service.settings import service_settings
from perfledger_service.usecases.fleets import Period
from perfledger_service.usecases.load_curves import REQUEST_LATENCY, read_load_curves
from perfledger_service.usecases.text_files import NamedBytes, read_named
from perfledger_service.views import ImportKind

DAY = ["%Y-%m-%d"]
Store = Annotated[
    str | None,
    typer.Option(
        help='in place of files: what `perfledger import` kept of this source, such as "main", "*"'
    ),
]


def given_files(
    files: Sequence[Path], store: str | None, kind: ImportKind
) -> tuple[NamedBytes, ...]:
    """Return the files that were named, or the stored ones of a source; raises UsageError."""
    if not _is_of_store(files, store):
        return tuple(read_named(file, most_bytes=MAX_USAGE_BYTES) for file in files)
    with server_modules():
        from perfledger_service.store.migrating import open_current  # noqa: PLC0415 - server's
        from perfledger_service.usecases.importing import stored_files  # noqa: PLC0415
    with open_current(service_settings().database_url) as engine:
        return stored_files(engine, kind, source=store or "")


def given_log(file: Path | None, store: str | None) -> NamedBytes:
    """Return the job log that was named, or the newest stored one of a source."""
    if not _is_of_store([] if file is None else [file], store) and file is not None:
        return read_named(file, most_bytes=MAX_LOG_BYTES)
    with server_modules():
        from perfledger_service.store.migrating import open_current  # noqa: PLC0415 - server's
        from perfledger_service.usecases.importing import newest_log  # noqa: PLC0415
    with open_current(service_settings().database_url) as engine:
        return newest_log(engine, source=store or "")


def given_curves(
    curves: Sequence[str], store: str | None, *, latency: str
) -> tuple[LoadCurve, ...]:
    """Return the load curves of the files that were named, or the stored ones of a source."""
    if not _is_of_store(curves, store):
        return read_load_curves(curves, latency=latency)
    if latency != REQUEST_LATENCY:
        msg = "--latency is said when other tools' curves are imported: leave it out of --store"
        raise UsageError(msg)
    with server_modules():
        from perfledger_service.store.migrating import open_current  # noqa: PLC0415 - server's
        from perfledger_service.usecases.importing import stored_curves  # noqa: PLC0415
    with open_current(service_settings().database_url) as engine:
        return stored_curves(engine, source=store or "")


def period_of(start: datetime | None, end: datetime | None) -> Period | None:
    """Return the days that were asked for, None where none were; raises UsageError."""
    if start is None and end is None:
        return None
    if start is None or end is None:
        msg = "--start and --end go together: give both days, the end exclusive"
        raise UsageError(msg)
    if start >= end:
        msg = f"--start {start:%Y-%m-%d} is not before --end {end:%Y-%m-%d}: turn them round"
        raise UsageError(msg)
    return Period(start.replace(tzinfo=UTC), end.replace(tzinfo=UTC))


def _is_of_store(named: Sequence[object], store: str | None) -> bool:
    if bool(named) == (store is not None):
        msg = "give files, or --store SOURCE for what was imported, and not both"
        raise UsageError(msg)
    return store is not None
