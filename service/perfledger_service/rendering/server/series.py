"""Presents imported series that were removed, or would be."""

from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    Preformatted,
    figure,
    name,
    table,
)
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.values.storage.series_removal import RemovableSeries, SeriesRemoval

_COLUMNS: tuple[Column[RemovableSeries], ...] = (
    figure("id", "series", lambda row: row.id),
    name("workload", "workload", lambda row: row.workload),
    name("metric", "metric", lambda row: row.metric),
    name("worse", "worse", lambda row: row.worse),
    name("machine_class", "machine class", lambda row: row.machine_class),
    figure("points", "points", lambda row: row.points),
)


def series_removal_document(removal: SeriesRemoval) -> Document:
    """Return series with the points that were removed, or would be."""
    points = quantity(sum(one.points for one in removal.series), "point")
    words = "To remove" if removal.is_dry_run else "Removed"
    return Document(
        name="perfledger-removed-series",
        facts={"repository": removal.repository, "is_dry_run": removal.is_dry_run},
        blocks=(
            table(_COLUMNS, removal.series, key="series"),
            Preformatted(f"{words}: {points}. The bundles of the import stay."),
        ),
    )
