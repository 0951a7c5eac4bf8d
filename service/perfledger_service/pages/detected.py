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

from perfledger_service.pages import findings
from perfledger_service.pages.escape import clean, code
from perfledger_service.pages.history_picture import picture
from perfledger_service.views import SearchedSeries

# 1: first version. Keys are only ever added.
HISTORY_FORMAT = "perfledger-history"
HISTORY_VERSION = 1

_MAX_NAME = 200
_INDENT = (0, 0, 0, 2)
_STYLES = {"up": "bold yellow", "down": "bold yellow", "came back": "dim"}


def histories_text(all_searched: Sequence[SearchedSeries]) -> Group:
    """Return the histories for a terminal: for each its name, its picture and what was found."""
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
    return Group(*parts)


def histories_markdown(all_searched: Sequence[SearchedSeries]) -> str:
    """Return the histories as Markdown: the same, with the picture as a block of text."""
    return "\n\n".join("\n".join(_markdown(searched)) for searched in all_searched) + "\n"


def histories_json(all_searched: Sequence[SearchedSeries]) -> str:
    """Return the histories as JSON, with indices from zero; null where there is no number."""
    document = {
        "format": HISTORY_FORMAT,
        "version": HISTORY_VERSION,
        "series": [_document(searched) for searched in all_searched],
    }
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
    yield f"### {code(searched.series.name, limit=_MAX_NAME)}"
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
