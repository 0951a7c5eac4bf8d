"""Imports files about the fleet into the store, and reads them back."""

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

import msgspec
from sqlalchemy import Engine
from sqlmodel import Session

from perfledger.rounding import digits, integer
from perfledger_cost_models.billing.usage_readers import read_usage
from perfledger_cost_models.job_logs.readers import read_job_log
from perfledger_cost_models.serving.load_curve import LoadCurve
from perfledger_cost_models.telemetry.readers import read_activity
from perfledger_cost_models.telemetry.sample_table import table_of
from perfledger_cost_models.telemetry.signals import Signal
from perfledger_cost_models.usage.device_spans import MAX_USAGE_BYTES
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_service.errors import ConflictError, NotFoundError, TooLargeError, UsageError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.fleet.imports import (
    NewImport,
    add_import,
    import_content,
    imports,
    lock_imports,
)
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import NamedBytes, errors_about
from perfledger_service.usecases.inputs.table_columns import quote_names
from perfledger_service.values.fleet_views import ImportKind, StoredImport

# Most bytes read together: a year of the largest monthly files, in a GB of memory.
MAX_TOGETHER_BYTES = 16 * MAX_USAGE_BYTES
_NO_NAME = "*?[/\\"  # of globs, and of folders, which clean names are without
HOW_TO_CUT = (
    "cut it at the days that it covers (sacct --truncate), give --source if it is from another "
    "cluster, or remove the other with `perfledger server import remove`"
)


_LOAD_CURVE_LIST_DECODER = msgspec.json.Decoder(tuple[LoadCurve, ...])


@dataclass(frozen=True, slots=True)
class _ImportSummary:
    """A file's summary in one line, and its period; None for a file without times."""

    summary: str
    since: datetime | None = None
    until: datetime | None = None


def import_file(
    engine: Engine, file: NamedBytes, *, kind: ImportKind, source: str, now: datetime
) -> tuple[StoredImport, bool]:
    """Store a file that can be read as its kind; return it, and whether it is new.

    Repeated content is the same import. Raises TooLargeError, UsageError for an unreadable file,
    and ConflictError for one whose period overlaps with another file of its source.
    """
    if any(mark in source for mark in _NO_NAME):
        msg = (
            f"a source's name must not contain {' '.join(_NO_NAME)}, because sources are selected "
            "by globs"
        )
        raise UsageError(msg)
    if len(file.data) > MAX_USAGE_BYTES:
        name = file.path or file.name
        msg = f"{name} is larger than {MAX_USAGE_BYTES:,} bytes: export shorter periods"
        raise TooLargeError(msg)
    with errors_about(file):
        summary = _READERS[kind](file)
    new = NewImport(
        kind=kind,
        source=clean_name(source),
        name=clean_name(file.name),
        sha256=sha256(file.data).hexdigest(),
        since=summary.since,
        until=summary.until,
        summary=summary.summary,
        unpacked_bytes=len(file.data),
        content=gzip.compress(file.data, mtime=0),
    )
    with write_session(engine) as session:
        lock_imports(session)
        source_imports = imports(session, kind, source=new.source)
        stored = _same(source_imports, new)
        if stored is not None:
            return stored, False
        _check_overlap(session, file, new, source_imports)
        add_import(session, new, now=now)
        session.commit()
        stored = _same(imports(session, kind, source=new.source), new)
    assert stored is not None  # noqa: S101 - it was stored
    return stored, True


def stored_files(engine: Engine, kind: ImportKind, *, source: str) -> tuple[NamedBytes, ...]:
    """Return the files of a kind whose source matches a glob, in order of time.

    Raises NotFoundError if there are none, TooLargeError if they are too large to be read together.
    """
    with read_session(engine) as session:
        source_imports = _imports_of_source(session, kind, source)
        if sum(one.unpacked_bytes for one in source_imports) > MAX_TOGETHER_BYTES:
            msg = (
                f"the {len(source_imports)} files of {clean_name(source)!r} have more than "
                f"{MAX_TOGETHER_BYTES:,} bytes: ask for fewer sources, or remove old ones"
            )
            raise TooLargeError(msg)
        return tuple(NamedBytes(one.name, _content(session, one)) for one in source_imports)


def newest_log(engine: Engine, *, source: str) -> NamedBytes:
    """Return the newest job log of a source; raise NotFoundError."""
    with read_session(engine) as session:
        newest = max(_imports_of_source(session, ImportKind.JOBS, source), key=_age)
        return NamedBytes(newest.name, _content(session, newest))


def stored_curves(engine: Engine, *, source: str) -> tuple[LoadCurve, ...]:
    """Return the load curves of a source, the newest for each kind of replica.

    Raises NotFoundError if there are none.
    """
    curves: dict[tuple[str, str, int, int, int], LoadCurve] = {}
    with read_session(engine) as session:
        for one in sorted(_imports_of_source(session, ImportKind.LOAD, source), key=_age):
            data = _content(session, one)
            for curve in _LOAD_CURVE_LIST_DECODER.decode(data):
                kind = (curve.devices, curve.time_slices, curve.servers)
                curves[curve.workload, curve.device, *kind] = curve
    return tuple(curves.values())


def file_of_curves(name: str, curves: Sequence[LoadCurve]) -> NamedBytes:
    """Return load curves in the form in which they are stored."""
    return NamedBytes(name, msgspec.json.encode(curves))


def _imports_of_source(session: Session, kind: ImportKind, source: str) -> tuple[StoredImport, ...]:
    """Return a source's imports; raise NotFoundError with the existing sources."""
    source_imports = imports(session, kind, source=source)
    if not source_imports:
        source_list = quote_names(sorted({one.source for one in imports(session, kind)}))
        msg = (
            f"no {kind} of {clean_name(source)!r} was imported; imported sources: "
            f"{source_list}. Import one: "
            f"perfledger server import {kind} FILE --source NAME"
        )
        raise NotFoundError(msg)
    return source_imports


def _age(stored: StoredImport) -> tuple[datetime, int]:
    return stored.created_at, stored.id


def _same(source_imports: Sequence[StoredImport], new: NewImport) -> StoredImport | None:
    return next((one for one in source_imports if one.sha256 == new.sha256), None)


def _content(session: Session, stored: StoredImport) -> bytes:
    return gzip.decompress(import_content(session, stored.id))


def _check_overlap(
    session: Session, file: NamedBytes, new: NewImport, source_imports: Sequence[StoredImport]
) -> None:
    """Raise ConflictError if a file would count hours twice beside stored ones."""
    if new.since is None or new.until is None:
        return
    overlapping = [
        one
        for one in source_imports
        if one.since is not None and one.until is not None
        if one.since < new.until and new.since < one.until
    ]
    if not overlapping:
        return
    first = overlapping[0]
    if new.kind is ImportKind.USAGE:
        msg = (
            f"{new.name} ({new.since:%Y-%m-%d} to {new.until:%Y-%m-%d}) overlaps with {first.name} "
            f"(import {first.id}), so hours would count twice: {HOW_TO_CUT}"
        )
        raise ConflictError(msg)
    # Files may have different metrics or devices at the same time.
    other_files = [NamedBytes(one.name, _content(session, one)) for one in overlapping]
    with translate_errors():
        table_of([read_activity(each.data, each.name) for each in (file, *other_files)])


def _usage(file: NamedBytes) -> _ImportSummary:
    usage = read_usage(file.data, file.name)
    hours = sum(span.device_hours for span in usage.spans)
    return _ImportSummary(
        f"{usage.kind}: {integer(hours)} device-hours", *_times(usage.start, usage.end)
    )


def _activity(file: NamedBytes) -> _ImportSummary:
    export = read_activity(file.data, file.name)
    table = table_of([export])
    signals = ", ".join(signal for signal in Signal if signal in table.signals)
    devices = f"{digits(table.device_count, 6)} devices"
    return _ImportSummary(f"{export.kind}: {signals} of {devices}", *_times(table.start, table.end))


def _jobs(file: NamedBytes) -> _ImportSummary:
    log = read_job_log(file.text)
    return _ImportSummary(f"{log.format}: {len(log.jobs):,} jobs")


def _load(file: NamedBytes) -> _ImportSummary:
    curves = _LOAD_CURVE_LIST_DECODER.decode(file.data)
    return _ImportSummary(
        "; ".join(
            f"{one.workload} on {one.devices} x {one.device}: {len(one.points):,} points"
            for one in curves
        )
    )


def _times(start: float, end: float) -> tuple[datetime, datetime]:
    return datetime.fromtimestamp(start, UTC), datetime.fromtimestamp(end, UTC)


_READERS: Mapping[ImportKind, Callable[[NamedBytes], _ImportSummary]] = {
    ImportKind.USAGE: _usage,
    ImportKind.ACTIVITY: _activity,
    ImportKind.JOBS: _jobs,
    ImportKind.LOAD: _load,
}
