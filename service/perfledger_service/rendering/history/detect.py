"""Presents the changes in histories, and the events that several series share."""

import math
from collections.abc import Iterator, Sequence

from perfledger_baselines.history.commits.grouping import GroupedChanges
from perfledger_service.rendering.history import change_rows
from perfledger_service.rendering.history.event_rows import (
    EventRow,
    MovedSeriesRow,
    doubtful_events_sentence,
    event_rows,
    events_record,
)
from perfledger_service.rendering.history.sparkline import sparkline
from perfledger_service.rendering.layout import vocabulary
from perfledger_service.rendering.layout.document import (
    Block,
    CellKind,
    Column,
    Document,
    Preformatted,
    TextStyle,
    attributes,
    display,
    field_names,
    name,
    notes,
    sentences,
    table,
    title,
    words,
)
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME, clean
from perfledger_service.values.measured_series import SearchedSeries

_MAX_SERIES = 4000
_STYLES = {"up": TextStyle.WARNING, "down": TextStyle.WARNING, "came back": TextStyle.NOTE}
_FINDING_COLUMNS: tuple[Column[change_rows.FindingRow], ...] = (
    words("", "", lambda row: row.mark),
    words("", "what", lambda row: row.what),
    name("", "at", lambda row: row.label),
    words("", "where", lambda row: row.place),
    display("size", lambda row: row.size),
    display("95 % interval", lambda row: row.interval),
    display("confidence", lambda row: row.confidence),
    words("", "detail", lambda row: row.detail, kind=CellKind.REMARK),
)


def histories_document(
    all_searched: Sequence[SearchedSeries], *, events: GroupedChanges | None = None
) -> Document:
    """Return the name, the picture and the findings of each history.

    `events` are the changes that several series share; they come last. Indices in the JSON count
    from zero.
    """
    facts: dict[str, object] = {"series": [_record(searched) for searched in all_searched]}
    blocks = [block for searched in all_searched for block in _blocks(searched)]
    if events is not None:
        names = _names(all_searched)
        facts |= events_record(events, names)
        blocks += _event_blocks(events, names)
    series_notes = ((*one.series.notes, *one.series.notes_on_others) for one in all_searched)
    remarks = tuple(dict.fromkeys(note for one_notes in series_notes for note in one_notes))
    if remarks:
        blocks += notes(f"{note[:1].upper()}{note[1:]}." for note in remarks)
    facts["notes"] = remarks
    return Document(name="perfledger-history", facts=facts, blocks=tuple(blocks))


def _blocks(searched: SearchedSeries) -> Iterator[Block]:
    series = searched.series.name
    yield title(f"{series}: {change_rows.findings_sentence(searched)}", names=[series])
    yield Preformatted(sparkline(searched))
    yield table(
        _FINDING_COLUMNS,
        change_rows.finding_rows(searched),
        style=lambda row: _STYLES.get(row.what, TextStyle.WARNING),
    )


def _names(all_searched: Sequence[SearchedSeries]) -> tuple[str, ...]:
    """Return the point names that all series of a folder share."""
    return next(one.series.labels for one in all_searched if one.series.series is not None)


def _event_blocks(events: GroupedChanges, names: Sequence[str]) -> Iterator[Block]:
    rows = event_rows(events, names)
    columns: tuple[Column[EventRow], ...] = (
        name("", "commits", lambda row: row.commits),
        words("", "what", lambda row: row.what),
        words("", "series", lambda row: row.summary),
        name("", "largest", _moved_series, limit=_MAX_SERIES),
        words("", "detail", lambda row: row.detail, kind=CellKind.REMARK),
    )
    yield title("Across all series")
    yield table(columns, rows)
    if not rows:
        yield from sentences(["No significant event in any series."])
    if doubtful := doubtful_events_sentence(events):
        yield from notes([f"{doubtful}."])


def _moved_series(row: EventRow) -> str:
    return ", ".join(map(_series_change, row.moved_series))


def _series_change(row: MovedSeriesRow) -> str:
    metric = vocabulary.metric_label(row.metric) or clean(row.metric)
    where = f" on {clean(row.machine_class)}" if row.machine_class else ""
    return f"{clean(row.workload, limit=MAX_LONG_NAME)} {metric} {_size(row)}{where}"


def _size(row: MovedSeriesRow) -> str:
    return f"{row.size} ({row.interval}{', first' if row.was_first else ''})"


def _record(searched: SearchedSeries) -> dict[str, object]:
    series, history, suspect = searched.series, searched.history, searched.suspect
    return {
        "name": series.name,
        "unit": series.unit,
        "worse": series.series and series.series.metric.worse,
        "points": len(series.values),
        "gaps": sum(map(math.isnan, series.values)),
        "epochs": series.epochs,
        "changes": [
            _finding(searched, one.index, one)
            | {
                "movement": one.movement,
                "has_new_environment": one.index in searched.new_machines,
            }
            for one in history.changes
        ],
        "transients": [_finding(searched, one.first, one) for one in history.transients],
        "drifts": [_finding(searched, one.first, one) for one in history.drifts],
        "spread_changes": [_finding(searched, one.index, one) for one in history.spread_changes],
        "state_changes": [_finding(searched, one.index, one) for one in history.state_changes],
        "cycles": [attributes(one, *field_names(type(one))) for one in history.cycles],
        "confounded_changes": [
            _finding(searched, one.index, one) for one in history.confounded_changes
        ],
        "suspect": suspect and _finding(searched, suspect.index, suspect),
    }


def _finding(searched: SearchedSeries, index: int, finding: object) -> dict[str, object]:
    labels = searched.series.labels
    fields = attributes(finding, *field_names(type(finding)))
    return {"label": labels[index] if labels else None, **fields}
