"""Files about the fleet in, kept in the store once each; and out again, for whoever asks."""

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

import msgspec
from sqlalchemy import Engine
from sqlmodel import Session

from perfledger_cost_models.activity import Signal
from perfledger_cost_models.activity_file import read_activity
from perfledger_cost_models.activity_table import table_of
from perfledger_cost_models.job_log import read_job_log
from perfledger_cost_models.load_curve import LoadCurve
from perfledger_cost_models.usage import MAX_USAGE_BYTES
from perfledger_cost_models.usage_file import read_usage
from perfledger_profiles.redact import clean_name
from perfledger_service.errors import ConflictError, NotFoundError, TooLargeError, UsageError
from perfledger_service.store.database import reading, writing
from perfledger_service.store.imports import (
    NewImport,
    add_import,
    import_content,
    imports,
    lock_imports,
)
from perfledger_service.usecases.text_files import NamedBytes
from perfledger_service.usecases.translating import translated
from perfledger_service.views import ImportKind, StoredImport

# What is read together at once: a year of months of the largest files, and a GB of memory.
MAX_TOGETHER_BYTES = 16 * MAX_USAGE_BYTES
_NO_NAME = "*?[/\\"  # of globs, and of folders, which clean names are without
HOW_TO_CUT = (
    "cut it at the days that it is of (sacct --truncate), give --source if it is of another "
    "cluster, or `perfledger import remove` the other"
)


@dataclass(frozen=True, slots=True)
class _Told:
    """What a file tells, in a line, and from when to when; None for one that tells no time."""

    summary: str
    since: datetime | None = None
    until: datetime | None = None


def import_file(
    engine: Engine, file: NamedBytes, *, kind: ImportKind, source: str, now: datetime
) -> tuple[StoredImport, bool]:
    """Keep a file, once it is read as its kind; return it, and whether it is new.

    The same content again is the same import. Raises TooLargeError, UsageError for what cannot be
    read, and ConflictError for one that tells of the same time as another of its source.
    """
    if any(mark in source for mark in _NO_NAME):
        msg = f"a source is asked for by a glob: call it something without {' '.join(_NO_NAME)}"
        raise UsageError(msg)
    if len(file.data) > MAX_USAGE_BYTES:
        msg = f"{file.name} is larger than {MAX_USAGE_BYTES:,} bytes: export shorter periods"
        raise TooLargeError(msg)
    with translated():
        told = _READERS[kind](file)
    new = NewImport(
        kind=kind,
        source=clean_name(source),
        name=clean_name(file.name),
        sha256=sha256(file.data).hexdigest(),
        since=told.since,
        until=told.until,
        summary=told.summary,
        unpacked_bytes=len(file.data),
        content=gzip.compress(file.data, mtime=0),
    )
    with writing(engine) as session:
        lock_imports(session)
        known = imports(session, kind, source=new.source)
        found = _same(known, new)
        if found is not None:
            return found, False
        _check_together(session, file, new, known)
        add_import(session, new, now=now)
        session.commit()
        found = _same(imports(session, kind, source=new.source), new)
    assert found is not None  # noqa: S101 - it was stored
    return found, True


def stored_files(engine: Engine, kind: ImportKind, *, source: str) -> tuple[NamedBytes, ...]:
    """Return the files of a kind whose source matches a glob, in the order of their time.

    Raises NotFoundError where there is none, TooLargeError for more than can be read together.
    """
    with reading(engine) as session:
        known = _known(session, kind, source)
        if sum(one.unpacked_bytes for one in known) > MAX_TOGETHER_BYTES:
            msg = (
                f"the {len(known)} files of {clean_name(source)!r} have more than "
                f"{MAX_TOGETHER_BYTES:,} bytes: ask for fewer sources, or remove old ones"
            )
            raise TooLargeError(msg)
        return tuple(NamedBytes(one.name, _content(session, one)) for one in known)


def newest_log(engine: Engine, *, source: str) -> NamedBytes:
    """Return the job log of a source that was imported last; raises NotFoundError."""
    with reading(engine) as session:
        newest = max(_known(session, ImportKind.JOBS, source), key=_age)
        return NamedBytes(newest.name, _content(session, newest))


def stored_curves(engine: Engine, *, source: str) -> tuple[LoadCurve, ...]:
    """Return the load curves of a source; of one kind of replica the one imported last.

    Raises NotFoundError where there is none.
    """
    found: dict[tuple[str, str, int, int, int], LoadCurve] = {}
    with reading(engine) as session:
        for one in sorted(_known(session, ImportKind.LOAD, source), key=_age):
            data = _content(session, one)
            for curve in msgspec.json.decode(data, type=tuple[LoadCurve, ...]):
                kind = (curve.devices, curve.time_slices, curve.servers)
                found[curve.workload, curve.device, *kind] = curve
    return tuple(found.values())


def file_of_curves(name: str, curves: Sequence[LoadCurve]) -> NamedBytes:
    """Return load curves, of whichever tool, in the form that they are kept in."""
    return NamedBytes(name, msgspec.json.encode(curves))


def _known(session: Session, kind: ImportKind, source: str) -> tuple[StoredImport, ...]:
    """Return a source's imports; raises NotFoundError, naming the sources that there are."""
    known = imports(session, kind, source=source)
    if not known:
        there = sorted({one.source for one in imports(session, kind)})
        shown = ", ".join(there[:10]) or "nothing"
        msg = (
            f"no {kind} of {clean_name(source)!r} was imported, but {shown}: "
            f"perfledger import {kind} FILE --source NAME"
        )
        raise NotFoundError(msg)
    return known


def _age(one: StoredImport) -> tuple[datetime, int]:
    return one.created_at, one.id


def _same(known: Sequence[StoredImport], new: NewImport) -> StoredImport | None:
    return next((one for one in known if one.sha256 == new.sha256), None)


def _content(session: Session, one: StoredImport) -> bytes:
    return gzip.decompress(import_content(session, one.id))


def _check_together(
    session: Session, file: NamedBytes, new: NewImport, known: Sequence[StoredImport]
) -> None:
    """Refuse what would count twice beside what is there; raises ConflictError."""
    if new.since is None or new.until is None:
        return
    beside = [
        one
        for one in known
        if one.since is not None and one.until is not None
        if one.since < new.until and new.since < one.until
    ]
    if not beside:
        return
    first = beside[0]
    if new.kind is ImportKind.USAGE:
        msg = (
            f"{new.name} tells of {new.since:%Y-%m-%d} to {new.until:%Y-%m-%d}, of which "
            f"{first.name} (import {first.id}) tells as well: hours would count twice. {HOW_TO_CUT}"
        )
        raise ConflictError(msg)
    # Files may tell of different metrics, or devices, at one time.
    others = [NamedBytes(one.name, _content(session, one)) for one in beside]
    with translated():
        table_of([read_activity(each.data, each.name) for each in (file, *others)])


def _usage(file: NamedBytes) -> _Told:
    usage = read_usage(file.data, file.name)
    hours = sum(span.device_hours for span in usage.spans)
    return _Told(f"{usage.kind}: {hours:,.0f} device-hours", *_times(usage.start, usage.end))


def _activity(file: NamedBytes) -> _Told:
    export = read_activity(file.data, file.name)
    table = table_of([export])
    signals = ", ".join(signal for signal in Signal if signal in table.signals)
    devices = f"{float(table.sizes.sum()):,.6g} devices"
    return _Told(f"{export.kind}: {signals} of {devices}", *_times(table.start, table.end))


def _jobs(file: NamedBytes) -> _Told:
    log = read_job_log(file.text)
    return _Told(f"{log.format}: {len(log.jobs):,} jobs")


def _load(file: NamedBytes) -> _Told:
    curves = msgspec.json.decode(file.data, type=tuple[LoadCurve, ...])
    return _Told(
        "; ".join(
            f"{one.workload} on {one.devices} x {one.device}: {len(one.points):,} points"
            for one in curves
        )
    )


def _times(start: float, end: float) -> tuple[datetime, datetime]:
    return datetime.fromtimestamp(start, UTC), datetime.fromtimestamp(end, UTC)


_READERS: Mapping[ImportKind, Callable[[NamedBytes], _Told]] = {
    ImportKind.USAGE: _usage,
    ImportKind.ACTIVITY: _activity,
    ImportKind.JOBS: _jobs,
    ImportKind.LOAD: _load,
}
