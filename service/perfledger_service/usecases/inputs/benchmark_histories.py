"""Reads the histories that other benchmark tools keep, from a file or a folder."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from perfledger.bundle import BUNDLE_FORMAT
from perfledger.metrics import Metric, MetricKind
from perfledger.records import SHORT_SHA_DIGITS
from perfledger_baselines.history.commits.attribution import Series
from perfledger_profiles.benchmark_histories.commit_order import (
    CommitLine,
    HistorySeries,
    OrderedHistory,
    order_history,
)
from perfledger_profiles.benchmark_histories.formats import history_format, read_results
from perfledger_profiles.benchmark_histories.results import (
    BenchmarkResult,
    HistoryFileError,
    HistoryFormat,
)
from perfledger_profiles.benchmark_histories.text import (
    MAX_HISTORY_BYTES,
    HistoryText,
    parse_history,
)
from perfledger_profiles.parsing.gzip_input import GZIP_MAGIC
from perfledger_profiles.parsing.text_file import encoding_of
from perfledger_profiles.parsing.text_table import first_row
from perfledger_service.errors import TooLargeError, UsageError
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.usecases.inputs.clones import branch_of_clone
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import errors_about, read_head, read_named
from perfledger_service.values.measured_series import MeasuredSeries

# A file for each commit over some years on several machines.
MAX_HISTORY_FILES = 20_000
# Parsed, they take up to ten times as much memory.
MAX_HISTORY_FOLDER_BYTES = 256 * 2**20

MAX_HEADER_BYTES = 2**16  # of a CSV with a thousand columns

_SUFFIXES = frozenset({".json", ".jsonl", ".js", ".log", ".txt", ".out", ".csv"})
_MAX_NAMES = 5  # files that a note lists
_HEAD_BYTES = 2000  # a bundle's first field is its format
_HASH = re.compile(r"(?<![0-9a-zA-Z])[0-9a-f]{7,40}(?![0-9a-zA-Z])")


@dataclass(frozen=True, slots=True, kw_only=True)
class _HistoryFiles:
    """Files of one format, and the names of other files beside them."""

    texts: Sequence[HistoryText]
    format: HistoryFormat
    left_out: Sequence[str] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the note on the files left out."""
        if not self.left_out:
            return ()
        names = ", ".join(self.left_out[:_MAX_NAMES])
        more = len(self.left_out) - _MAX_NAMES
        rest = f" and {more:,} more" if more > 0 else ""
        return (f"files that are not of {self.format}, which are left out: {names}{rest}",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResults:
    """The results in the files of one tool, and the clone's commits if there is one."""

    format: HistoryFormat
    results: Sequence[BenchmarkResult]
    line: CommitLine | None
    notes: tuple[str, ...]  # on files that were left out


def format_named(name: str) -> HistoryFormat:
    """Return the format of a tool's name; raise UsageError, which lists them."""
    try:
        return HistoryFormat(name)
    except ValueError as error:
        names = ", ".join(HistoryFormat)
        msg = f"{clean(name)!r} is not a tool whose history can be read: choose from {names}"
        raise UsageError(msg) from error


def read_benchmark_histories(
    path: Path,
    *,
    format_: HistoryFormat | None = None,
    clone: Path | None = None,
    is_one_machine: bool = False,
) -> tuple[MeasuredSeries, ...]:
    """Return the series of another tool's history; empty if its format is not one of them.

    A given format is used without detection. `clone` is a repository whose first parents order the
    commits; `is_one_machine` joins the series of all machines. Raises NotFoundError, TooLargeError
    and UsageError.
    """
    line = None if clone is None else line_of_clone(clone)
    read = read_tool_results(path, format_=format_, line=line, is_one_machine=is_one_machine)
    if read is None:
        return ()
    with translate_errors():
        history = order_history(read.results, line=read.line)
    return _measured_series(replace(history, notes=(*history.notes, *read.notes)))


def line_of_clone(clone: Path) -> CommitLine:
    """Return the first parents of a clone's default branch; raise UsageError without any."""
    return CommitLine(branch_of_clone(clone))


def read_tool_results(
    path: Path,
    *,
    format_: HistoryFormat | None = None,
    line: CommitLine | None = None,
    is_one_machine: bool = False,
) -> ToolResults | None:
    """Return the results of another tool in any order; None if the format is not one of them.

    With a clone's line, results of a file that names no commit take the one in the file's name.
    Raises NotFoundError, TooLargeError and UsageError.
    """
    with errors_about(path):
        files = _files_at(path, format_)
        if files is None:
            return None
        results = _results(files, line)
    if is_one_machine:
        results = [replace(one, machine="") for one in results]
    return ToolResults(format=files.format, results=results, line=line, notes=files.notes)


def is_column(path: Path, name: str | None) -> bool:
    """Return whether a file is a CSV with this column in its first line, to be read as a table.

    Raises NotFoundError and UsageError.
    """
    if name is None or path.is_dir() or path.suffix.lower() == ".json":
        return False
    head = read_head(path, MAX_HEADER_BYTES)
    return name in map(str.strip, first_row(head.decode(encoding_of(head), errors="replace")))


def _files_at(path: Path, format_: HistoryFormat | None) -> _HistoryFiles | None:
    """Return the files of one format; None if the format is unknown."""
    if not path.is_dir():
        if format_ is None and read_head(path, len(GZIP_MAGIC)) == GZIP_MAGIC:
            return None
        named = read_named(path, most_bytes=MAX_HISTORY_BYTES)
        try:
            file = parse_history(named.data, clean(named.name))
        except HistoryFileError:
            if format_ is None and not named.data.lstrip().startswith(b"window."):
                return None  # the table reader says what is wrong in it
            raise
        one_format = format_ or history_format(file)
        return None if one_format is None else _HistoryFiles(texts=[file], format=one_format)
    if format_ is None and _has_bundles(path):
        return None
    return _of_one_format(_files_in(path), format_, clean(path.name or str(path)))


def _has_bundles(folder: Path) -> bool:
    first = next(iter(sorted(folder.glob("*.json"))), None)
    if first is None:
        return next(folder.glob("*.json.gz"), None) is not None
    return BUNDLE_FORMAT.encode() in read_head(first, _HEAD_BYTES)


def _files_in(folder: Path) -> list[HistoryText | HistoryFileError]:
    """Return the files in a folder and below it, or why one is not read."""
    paths = sorted(one for one in folder.rglob("*") if one.suffix in _SUFFIXES and one.is_file())
    if len(paths) > MAX_HISTORY_FILES:
        msg = (
            f"{len(paths):,} files in {clean(str(folder))}: at most {MAX_HISTORY_FILES:,} are read"
        )
        raise TooLargeError(msg)
    files: list[HistoryText | HistoryFileError] = []
    size = 0
    for path in paths:
        data = read_named(path, most_bytes=MAX_HISTORY_BYTES).data
        size += len(data)
        if size > MAX_HISTORY_FOLDER_BYTES:
            limit = f"{MAX_HISTORY_FOLDER_BYTES // 2**20} MiB"
            msg = f"the files in {clean(str(folder))} have more than {limit}: give a part of them"
            raise TooLargeError(msg)
        try:
            files.append(parse_history(data, clean(str(path.relative_to(folder)))))
        except HistoryFileError as error:
            files.append(error)
    return files


def _of_one_format(
    files: Sequence[HistoryText | HistoryFileError], format_: HistoryFormat | None, folder: str
) -> _HistoryFiles | None:
    texts = [file for file in files if isinstance(file, HistoryText)]
    matches = [
        (file, found_format) for file in texts if (found_format := history_format(file)) is not None
    ]
    formats = {one for _, one in matches} if format_ is None else {format_}
    if not formats:
        return None
    if len(formats) > 1:
        msg = f"{folder} has files of {', '.join(sorted(formats))}: choose one with --from"
        raise UsageError(msg)
    (chosen,) = formats
    if chosen in {HistoryFormat.OTAVA, HistoryFormat.CSV} and len(texts) > 1:
        msg = f"{folder} has several CSV files, whose rows have no common order: give one of them"
        raise UsageError(msg)
    for file in files:
        if isinstance(file, HistoryFileError):
            raise file
    of_format = [file for file, one in matches if one is chosen] or texts
    names = {file.source for file in of_format}
    left_out = [file.source for file in texts if file.source not in names]
    return _HistoryFiles(texts=of_format, format=chosen, left_out=left_out)


def _results(files: _HistoryFiles, line: CommitLine | None) -> list[BenchmarkResult]:
    """Return the results; with a clone, a file without a commit gets the one in its name."""
    if files.format is HistoryFormat.ASV:
        return read_results(files.texts, files.format)
    results: list[BenchmarkResult] = []
    for file in files.texts:
        read = read_results([file], files.format)
        if line is not None and not any(one.commit for one in read):
            read = [replace(one, commit=_commit_in(file.source, line)) for one in read]
        results += read
    return results


def _commit_in(name: str, line: CommitLine) -> str:
    """Return the commit in a file's name, "" if none or several are on the line."""
    hashes = {one for one in _HASH.findall(name.lower()) if line.place_of(one) is not None}
    return hashes.pop() if len(hashes) == 1 else ""


def _measured_series(history: OrderedHistory) -> tuple[MeasuredSeries, ...]:
    machines = {one.machine for one in history.series}
    homonyms = Counter((one.benchmark, one.metric, one.machine) for one in history.series)
    series = [
        replace(one, benchmark=f"{one.benchmark} ({one.unit or 'without a unit'})")
        if homonyms[one.benchmark, one.metric, one.machine] > 1
        else one
        for one in history.series
    ]
    labels = tuple(commit[:SHORT_SHA_DIGITS] for commit in history.commits)
    ordered = f"commits are in the order {history.order}"
    return tuple(
        MeasuredSeries(
            name=_series_name(one, has_one_machine=len(machines) == 1),
            unit=one.unit,
            values=one.values,
            times=() if all(map(math.isnan, one.times)) else one.times,
            labels=labels if any(labels) else _dates(history.times),
            series=_identity(one),
            notes=(ordered, *history.notes),
        )
        for one in series
    )


def _series_name(series: HistorySeries, *, has_one_machine: bool) -> str:
    is_named = series.metric == "value"  # by its benchmark only
    name = series.benchmark if is_named else f"{series.benchmark} {series.metric}"
    return name if has_one_machine or not series.machine else f"{name} on {series.machine}"


def _dates(times: Iterable[float]) -> tuple[str, ...]:
    """Return the times as labels, "" for an unknown time."""
    return tuple(
        "" if math.isnan(time) else datetime.fromtimestamp(time, UTC).isoformat(timespec="minutes")
        for time in times
    )


def _identity(series: HistorySeries) -> Series | None:
    """Return the identity of a series, None if its direction is unknown."""
    if series.worse is None:
        return None
    kind = MetricKind.MEMORY if series.unit == "B" else MetricKind.SPEED
    metric = Metric(name=series.metric, unit=series.unit, worse=series.worse, kind=kind)
    return Series(series.benchmark, metric, series.machine)
