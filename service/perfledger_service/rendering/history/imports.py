"""Presents what an import of another tool's history stores and leaves out."""

from perfledger_service.rendering.history import stored_verdict_rows
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    fact,
    figure,
    name,
    notes,
    sentences,
    table,
)
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.values.measured_series import HistoryImport, ImportedSeries

_MAX_SERIES = 50  # shown to people; programs get all

_COLUMNS: tuple[Column[ImportedSeries], ...] = (
    name("workload", "benchmark", lambda one: one.workload),
    name("metric", "metric", lambda one: one.metric.name),
    name("unit", None, lambda one: one.metric.unit),
    figure("worse", "worse", lambda one: one.metric.worse),
    name(
        "machine_class",
        "machine",
        lambda one: one.machine_class,
        show=lambda one: stored_verdict_rows.device(one.machine_class),
    ),
    figure("points", "points", lambda one: one.points),
    figure("commits", "commits", lambda one: one.commits),
)
_LEFT_OUT: tuple[Column[tuple[str, int]], ...] = (
    fact("reason", lambda row: row[0]),
    fact("results", lambda row: row[1]),
)
_FROM_GITHUB = (
    "The service asks GitHub for the places of the commits on the default branch. For a project "
    "that trusts its runners, give --clone: without it the commits have no place and are not "
    "searched for changes."
)


def import_document(imported: HistoryImport) -> Document:
    """Return the series of an import, and the results that it leaves out."""
    points = sum(one.points for one in imported.series)
    size = (
        f"{quantity(points, 'point')} in {len(imported.series):,} series of "
        f"{quantity(imported.commits, 'commit')}"
    )
    verb = "would be imported" if imported.is_dry_run else "are imported"
    first = f"{size} {verb} from {imported.tool} into {imported.repository}."
    remarks = [
        *(
            f"Left out: {quantity(count, 'result')} {reason}."
            for reason, count in imported.left_out
        ),
        *imported.notes,
        *(() if imported.has_clone else (_FROM_GITHUB,)),
    ]
    return Document(
        name="perfledger-history-import",
        facts={
            "repository": imported.repository,
            "tool": imported.tool,
            "commits": imported.commits,
            "bundles": imported.bundles,
            "is_dry_run": imported.is_dry_run,
        },
        blocks=(
            *sentences([first], names=(imported.repository,)),
            table(_COLUMNS, imported.series, key="series", most=_MAX_SERIES),
            table(_LEFT_OUT, imported.left_out, key="left_out", in_csv=False),
            *notes(remarks),
        ),
    )
