"""Turns searched histories into what `perfledger detect` shows: a terminal's text, Markdown, JSON.

Nothing that others wrote reaches a page but as clean text.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from perfledger_baselines.history.events import Happenings
from perfledger_service.pages import findings, words
from perfledger_service.pages.escape import clean, code, prose
from perfledger_service.pages.happened import MovedRow, doubted, happened_json, happened_rows
from perfledger_service.pages.history_picture import picture
from perfledger_service.views import SearchedSeries

# 1: first version. Keys are only ever added.
HISTORY_FORMAT = "perfledger-history"
HISTORY_VERSION = 1

_MAX_NAME = 200
_INDENT = (0, 0, 0, 2)
_STYLES = {"up": "bold yellow", "down": "bold yellow", "came back": "dim"}


def histories_text(
    all_searched: Sequence[SearchedSeries], *, happened: Happenings | None = None
) -> Group:
    """Return the histories for a terminal: for each its name, its picture and what was found.

    `happened` is what the changes of several series amount to: it stands at the end.
    """
    parts: list[RenderableType] = []
    for searched in all_searched:
        parts.extend([Text()] if parts else [])
        name = Text(clean(searched.series.name, limit=_MAX_NAME), style="bold")
        name.append(f": {findings.summary(searched)}", style="not bold")
        parts.append(name)
        parts.append(Padding(Text(picture(searched), no_wrap=True), _INDENT))
        rows = findings.finding_rows(searched)
        if rows:
            parts.append(Padding(_grid(rows), (1, 0, 0, 2)))
    if happened is not None:
        parts.extend([Text(), Text("Across all series", style="bold")])
        parts.append(Padding(_events_grid(happened, _names(all_searched)), _INDENT))
    return Group(*parts)


def histories_markdown(
    all_searched: Sequence[SearchedSeries], *, happened: Happenings | None = None
) -> str:
    """Return the histories as Markdown: the same, with the picture as a block of text."""
    parts = ["\n".join(_markdown(searched)) for searched in all_searched]
    if happened is not None:
        parts.append("\n".join(_events_markdown(happened, _names(all_searched))))
    return "\n\n".join(parts) + "\n"


def histories_json(
    all_searched: Sequence[SearchedSeries], *, happened: Happenings | None = None
) -> str:
    """Return the histories as JSON, with indices from zero; null where there is no number."""
    document: dict[str, object] = {
        "format": HISTORY_FORMAT,
        "version": HISTORY_VERSION,
        "series": [_document(searched) for searched in all_searched],
    }
    if happened is not None:
        document |= happened_json(happened, _names(all_searched))
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _grid(rows: Sequence[findings.FindingRow]) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=1)
    grid.add_column(width=10, overflow="fold")
    grid.add_column(width=25, overflow="fold")
    grid.add_column(width=27, overflow="fold")
    grid.add_column(width=11, overflow="fold")
    grid.add_row("", "what", "where", "size (95 % interval)", "confidence", style="dim")
    for row in rows:
        style = _STYLES.get(row.what, "yellow")
        where = f"{clean(row.label, limit=25)}\n{row.place}" if row.label else row.place
        size = f"{row.size} ({row.interval})" if row.interval else row.size
        grid.add_row(
            Text(row.mark, style=style),
            Text(row.what, style=style),
            Text(where),
            Text(f"{size}\n{row.detail}" if row.detail else size),
            Text(row.confidence),
        )
    return grid


def _markdown(searched: SearchedSeries) -> Iterator[str]:
    yield f"### {code(searched.series.name, limit=_MAX_NAME, in_table=False)}"
    yield f"\n{findings.summary(searched)}.\n"
    yield f"```text\n{picture(searched)}\n```"
    rows = findings.finding_rows(searched)
    if rows:
        yield "\n| | what | where | size | 95 % interval | | confidence |"
        yield "|---|---|---|---|---|---|---|"
    for row in rows:
        where = f"{code(row.label)}, {row.place}" if row.label else row.place
        cells = (row.mark, row.what, where, row.size, row.interval, row.detail, row.confidence)
        yield f"| {' | '.join(cells)} |"


def _names(all_searched: Sequence[SearchedSeries]) -> tuple[str, ...]:
    """Return the names of the points that series of a folder have in common."""
    return next(one.series.labels for one in all_searched if one.series.series is not None)


def _events_grid(happened: Happenings, names: Sequence[str]) -> Table:
    grid = Table.grid(padding=(0, 2))
    for row in happened_rows(happened, names):
        moved = [f"{clean(row.summary)}: " + ", ".join(map(_moved, row.moved)), row.detail]
        grid.add_row(
            Text(clean(row.commits), style="bold"),
            Text(row.what, style="yellow"),
            Text("\n".join(filter(None, moved))),
        )
    if not grid.row_count:
        grid.add_row(Text("no event that is sure among so many series", style="dim"))
    if doubted(happened):
        grid.add_row("", "", Text(doubted(happened), style="dim"))
    return grid


def _events_markdown(happened: Happenings, names: Sequence[str]) -> Iterator[str]:
    rows = happened_rows(happened, names)
    yield "### Across all series\n"
    if rows:
        yield "| commits | what | series | largest | |\n|---|---|---|---|---|"
    else:
        yield "No event that is sure among so many series."
    for row in rows:
        moved = ", ".join(map(_moved_markdown, row.moved))
        cells = (code(row.commits), row.what, prose(row.summary), moved, row.detail)
        yield f"| {' | '.join(cells)} |"
    if doubted(happened):
        yield f"\n{doubted(happened)}."


def _moved(one: MovedRow) -> str:
    metric = words.metric_label(one.metric) or clean(one.metric)
    where = f" on {clean(one.machine_class)}" if one.machine_class else ""
    return f"{clean(one.workload, limit=_MAX_NAME)} {metric} {_size(one)}{where}"


def _moved_markdown(one: MovedRow) -> str:
    metric = words.metric_label(one.metric) or code(one.metric)
    where = f" on {code(one.machine_class)}" if one.machine_class else ""
    return f"{code(one.workload, limit=_MAX_NAME)} {metric} {_size(one)}{where}"


def _size(one: MovedRow) -> str:
    return f"{one.size} ({one.interval}{', first' if one.was_first else ''})"


def _document(searched: SearchedSeries) -> dict[str, object]:
    series, history = searched.series, searched.history
    return {
        "name": series.name,
        "unit": series.unit,
        "points": len(series.values),
        "gaps": sum(map(math.isnan, series.values)),
        "epochs": list(series.epochs),
        "changes": [
            _finding(searched, change.index, asdict(change) | {"movement": str(change.movement)})
            for change in history.changes
        ],
        "transients": [_finding(searched, one.first, asdict(one)) for one in history.transients],
        "drifts": [_finding(searched, one.first, asdict(one)) for one in history.drifts],
        "spread_changes": [
            _finding(searched, one.index, asdict(one)) for one in history.spread_changes
        ],
        "state_changes": [
            _finding(searched, one.index, asdict(one)) for one in history.state_changes
        ],
        "suspect": (
            None
            if searched.suspect is None
            else _finding(searched, searched.suspect.index, asdict(searched.suspect))
        ),
    }


def _finding(
    searched: SearchedSeries, index: int, fields: Mapping[str, object]
) -> dict[str, object]:
    labels = searched.series.labels
    known = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in fields.items()
    }
    return {"label": labels[index] if labels else None} | known
