"""Reads the files of a command, or imported files by the name of their source."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perfledger_service.cli.option_groups import what
from perfledger_service.cli.server_modules import open_store
from perfledger_service.errors import UsageError

if TYPE_CHECKING:  # these would make every help slow
    from perfledger_cost_models.serving.load_curve import LoadCurve
    from perfledger_service.usecases.fleet.hours import UsagePeriod
    from perfledger_service.usecases.inputs.files import NamedBytes
    from perfledger_service.values.fleet_views import ImportKind

Source = Annotated[
    str | None,
    what("read imported files of this source instead, such as main or '*'", metavar="NAME"),
]
LatencyMetric = Annotated[
    str | None,
    what(
        "P99 in other tools' files: request_latency, ttft, tpot or itl",
        metavar="NAME",
        default="request_latency",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodFlags:
    """The first day and the end day of a period."""

    start: Annotated[datetime | None, what("first day; needs --end", metavar="DAY")] = None
    end: Annotated[datetime | None, what("end day, excluded; needs --start", metavar="DAY")] = None

    @property
    def period(self) -> "UsagePeriod | None":
        """Return the period, None without days; raises UsageError."""
        from perfledger_service.usecases.fleet.hours import UsagePeriod

        if self.start is None and self.end is None:
            return None
        if self.start is None or self.end is None:
            msg = "--start and --end go together: give both days; the end is exclusive"
            raise UsageError(msg)
        if self.start >= self.end:
            msg = (
                f"--start {self.start:%Y-%m-%d} is not before --end {self.end:%Y-%m-%d}: swap them"
            )
            raise UsageError(msg)
        return UsagePeriod(self.start.replace(tzinfo=UTC), self.end.replace(tzinfo=UTC))


def files_of(
    files: Sequence[Path], source: str | None, kind: "ImportKind"
) -> "tuple[NamedBytes, ...]":
    """Return the named files, or the imported ones of a source; raises UsageError."""
    if not _is_imported(files, source):
        from perfledger_cost_models.usage.device_spans import MAX_USAGE_BYTES
        from perfledger_service.usecases.inputs.files import read_named

        return tuple(read_named(file, most_bytes=MAX_USAGE_BYTES) for file in files)
    with open_store() as engine:
        from perfledger_service.usecases.inputs.imports import stored_files

        return stored_files(engine, kind, source=source or "")


def log_of(file: Path | None, source: str | None) -> "NamedBytes":
    """Return the named job log, or the newest imported one of a source; raises UsageError."""
    if not _is_imported([] if file is None else [file], source) and file is not None:
        from perfledger_cost_models.job_logs.readers import MAX_LOG_BYTES
        from perfledger_service.usecases.inputs.files import read_named

        return read_named(file, most_bytes=MAX_LOG_BYTES)
    with open_store() as engine:
        from perfledger_service.usecases.inputs.imports import newest_log

        return newest_log(engine, source=source or "")


def curves_of(
    curves: Sequence[str], source: str | None, *, latency_metric: str | None
) -> "tuple[LoadCurve, ...]":
    """Return the named load curves, or the imported ones of a source; raises UsageError."""
    from perfledger_service.usecases.inputs.load_curves import REQUEST_LATENCY, read_load_curves

    if not _is_imported(curves, source):
        return read_load_curves(curves, latency=latency_metric or REQUEST_LATENCY)
    if latency_metric is not None:
        msg = "--latency-metric applies when curves are imported: leave it out with --source"
        raise UsageError(msg)
    with open_store() as engine:
        from perfledger_service.usecases.inputs.imports import stored_curves

        return stored_curves(engine, source=source or "")


def _is_imported(names: Sequence[object], source: str | None) -> bool:
    if bool(names) == (source is not None):
        msg = "give either files or --source NAME for imported ones"
        raise UsageError(msg)
    return source is not None
