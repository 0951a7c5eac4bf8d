"""Imports another tool's history into a service, as bundles sent like any upload."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.formats import MAX_RESULTS
from perfledger_profiles.benchmark_histories.results import HistoryFormat
from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.bundles.upload import NoReceiptError, UploadError, upload_content
from perfledger_runners.checkouts.repository_name import is_repository_name
from perfledger_service.errors import PerfledgerError, TooLargeError, UsageError
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.usecases.history.imported_bundles import (
    ImportedHistory,
    content_of,
    imported_history,
)
from perfledger_service.usecases.inputs.benchmark_histories import (
    ToolResults,
    line_of_clone,
    read_tool_results,
)
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import shown_path
from perfledger_service.usecases.inputs.upload_target import UploadTarget
from perfledger_service.values.measured_series import HistoryImport


class ImportWatcher(Protocol):
    """A progress display of bundles checked or uploaded."""

    def began(self, table: str, *, rows: int) -> None:
        """Show what is done next, and for how many bundles."""
        ...

    def advanced(self, rows: int) -> None:
        """Show that some more bundles are done."""
        ...


def read_import(
    paths: Sequence[Path],
    *,
    repository: str,
    watcher: ImportWatcher,
    format_: HistoryFormat | None = None,
    clone: Path | None = None,
    is_one_machine: bool = False,
    worse: WorseDirection | None = None,
) -> tuple[ImportedHistory, ToolResults]:
    """Return the bundles of the histories at some paths, all of one tool, and what was read.

    Every bundle passes the same checks as in the service. Raises NotFoundError, TooLargeError and
    UsageError.
    """
    if not is_repository_name(repository):
        msg = f"{clean(repository)!r} is not a project: give the repository as OWNER/NAME"
        raise UsageError(msg)
    read = _read_all(paths, format_=format_, clone=clone, is_one_machine=is_one_machine)
    history = imported_history(read, repository=repository, worse=worse)
    if not history.bundles:
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in history.left_out.items())
        msg = f"no result can be imported: {reasons}"
        raise UsageError(msg)
    watcher.began("checking", rows=len(history.bundles))
    with translate_errors():
        for bundle in history.bundles:
            read_bundle(content_of(bundle))
            watcher.advanced(1)
    return history, read


def import_history(
    history: ImportedHistory, target: UploadTarget, *, watcher: ImportWatcher
) -> None:
    """Upload the bundles of a history, oldest commit first.

    The service stores each once, so repeating an import continues where the last one ended. Raises
    PerfledgerError, which says how many are stored.
    """
    watcher.began("uploading", rows=len(history.bundles))
    for number, bundle in enumerate(history.bundles):
        with translate_errors():
            credential = target.credential()
        try:
            upload_content(content_of(bundle), target.url, credential)
        except UploadError as error:
            is_to_repeat = isinstance(error, NoReceiptError)
            advice = "; the same command goes on with the rest" if is_to_repeat else ""
            msg = f"{error}; {number:,} of {len(history.bundles):,} bundles are imported{advice}"
            raise PerfledgerError(msg) from error
        watcher.advanced(1)


def summarize_import(
    history: ImportedHistory, read: ToolResults, *, repository: str, is_dry_run: bool
) -> HistoryImport:
    """Return what an import stores or would store."""
    return HistoryImport(
        repository=repository,
        tool=str(read.format),
        series=history.series,
        commits=history.commits,
        bundles=len(history.bundles),
        left_out=tuple(sorted(history.left_out.items())),
        notes=read.notes,
        has_clone=read.line is not None,
        is_dry_run=is_dry_run,
    )


def _read_all(
    paths: Sequence[Path],
    *,
    format_: HistoryFormat | None,
    clone: Path | None,
    is_one_machine: bool,
) -> ToolResults:
    line = None if clone is None else line_of_clone(clone)
    reads: list[ToolResults] = []
    for path in paths:
        read = read_tool_results(path, format_=format_, line=line, is_one_machine=is_one_machine)
        if read is None:
            msg = (
                f"{shown_path(path)} is not recognised as another tool's history: name the tool "
                "with --from"
            )
            raise UsageError(msg)
        reads.append(read)
    formats = Counter(read.format for read in reads)
    if len(formats) > 1:
        msg = f"the files are of {', '.join(sorted(formats))}: import one tool at a time"
        raise UsageError(msg)
    results = tuple(dict.fromkeys(result for read in reads for result in read.results))
    if len(results) > MAX_RESULTS:
        msg = f"the files have more than {MAX_RESULTS:,} results: import a part of them at a time"
        raise TooLargeError(msg)
    return ToolResults(
        format=reads[0].format,
        results=results,
        line=line,
        notes=tuple(note for read in reads for note in read.notes),
    )
