"""Shows a table in a terminal, as a grid if it fits, else as a list of rows with headings."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from perfledger_service.rendering.layout import escape
from perfledger_service.rendering.layout.document import (
    CellKind,
    ColumnHead,
    Table,
    TableRow,
    TextStyle,
)

STYLES: Mapping[TextStyle, str] = MappingProxyType(
    {
        TextStyle.PLAIN: "",
        TextStyle.TITLE: "bold",
        TextStyle.HEADING: "bold",
        TextStyle.STRONG: "bold",
        TextStyle.NOTE: "dim",
        TextStyle.WARNING: "yellow",
        TextStyle.BETTER: "green",
        TextStyle.WORSE: "bold red",
        TextStyle.MISSING: "bold magenta",
    }
)
_NARROWEST = 16  # columns; narrower columns make wrapped text unreadable, so rows are stacked
_WRAPPED = frozenset({CellKind.NAME, CellKind.WORDS, CellKind.REMARK})
_BELOW = frozenset({CellKind.REMARK, CellKind.PICTURE})
_WIDE_GAP = 2  # columns between columns, if there is room
_INDENT = (0, 0, 0, 2)


class TerminalTable:
    """A table laid out for the width of the terminal."""

    def __init__(self, table: Table) -> None:
        """Store the table and the columns that a terminal shows."""
        self._table = table
        self._gap = 1
        places = [index for index, column in enumerate(table.columns) if column.heading is not None]
        self._remarks = [at for at in places if table.columns[at].kind in _BELOW]
        self._places = [at for at in places if at not in self._remarks]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the groups of rows, and the number of further rows."""
        del console
        rows = self._table.rows[: self._table.most]
        widths = self._widths(options.max_width)
        is_wide = sum(widths) + _WIDE_GAP * (len(widths) - 1) <= options.max_width
        self._gap = _WIDE_GAP if is_wide else 1
        for group, alike in groupby(rows, key=lambda row: row.group):
            if group:
                yield Text(escape.clean(group), style="bold")
            members = list(alike)
            yield from self._grids(members, widths) if widths else self._stacks(members)
        if self._table.footer:
            yield self._footer(widths)
        left = len(self._table.rows) - len(rows)
        if left > 0:
            yield Text(f"and {left:,} more; --format json has all", style="dim")

    def _widths(self, most: int) -> list[int]:
        """Return the widths of the columns; empty if the grid would be unreadable.

        Columns of names and words share the remaining room: whole words first, then whole texts.
        """
        needs = [self._longest(at) for at in self._places]
        is_wrapped = [self._table.columns[at].kind in _WRAPPED for at in self._places]
        longest = max(
            (need for need, wraps in zip(needs, is_wrapped, strict=True) if wraps), default=0
        )
        for floors in ([self._longest_word(at) for at in self._places], [0] * len(needs)):
            for limit in range(longest, min(_NARROWEST, longest) - 1, -1):
                widths = [
                    max(floor, min(need, limit)) if wraps else need
                    for need, wraps, floor in zip(needs, is_wrapped, floors, strict=True)
                ]
                if sum(widths) + len(widths) - 1 <= most:
                    return widths
        return []

    def _longest(self, place: int) -> int:
        return max(map(cell_len, self._texts(place)))

    def _longest_word(self, place: int) -> int:
        words = (word for text in self._texts(place) for word in text.split())
        return max(map(cell_len, words), default=0)

    def _texts(self, place: int) -> Iterator[str]:
        """Yield a column's heading, footer and cells."""
        yield self._table.columns[place].heading or ""
        if self._table.footer:
            yield self._table.footer[self._places.index(place)]
        yield from (row.texts[place] for row in self._table.rows)

    def _grids(self, rows: Sequence[TableRow], widths: Sequence[int]) -> Iterator[RenderableType]:
        """Yield the rows as grids, and the lines between them."""
        headings = [self._table.columns[place].heading or "" for place in self._places]
        grid = self._grid(widths)
        if any(headings):
            grid.add_row(*headings, style="dim")
        for row in rows:
            above, cells, below = self._row(row, widths)
            if above:
                yield grid
                yield from above
                grid = self._grid(widths)
            grid.add_row(*cells, style=STYLES[row.style])
            if below:
                yield grid
                yield from (Padding(line, _INDENT) for line in below)
                grid = self._grid(widths)
        if grid.row_count:
            yield grid

    def _row(
        self, row: TableRow, widths: Sequence[int]
    ) -> tuple[list[Text], list[Text], list[Text]]:
        """Return the lines above a row, its cells, and the lines below it.

        A name that its column would break gets its own line: above the row for the first column,
        below it for others.
        """
        cells = self._cells(row, self._places)
        above, below = list[Text](), list[Text]()
        for number, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            is_name = self._table.columns[self._places[number]].kind is CellKind.NAME
            if is_name and max(map(cell_len, cell.plain.split()), default=0) > width:
                lines = below if number else above
                lines.append(Text.assemble(cell, style=STYLES[row.style]))
                cells[number] = Text()
        below += [cell for cell in self._cells(row, self._remarks) if cell.plain]
        return above, cells, below

    def _grid(self, widths: Sequence[int]) -> RichTable:
        grid = RichTable.grid(padding=(0, self._gap))
        for place, width in zip(self._places, widths, strict=True):
            is_figure = self._table.columns[place].kind is CellKind.FIGURE
            grid.add_column(justify="right" if is_figure else "left", width=width, overflow="fold")
        return grid

    def _stacks(self, rows: Sequence[TableRow]) -> Iterator[RenderableType]:
        """Yield each row as lines: its first cell, and below it the other cells with headings."""
        lines = RichTable.grid(padding=(0, 1))
        lines.add_column(no_wrap=True)
        lines.add_column(overflow="fold")
        places = [*self._places, *self._remarks]
        for row in rows:
            cells = self._cells(row, places)
            first = self._table.columns[places[0]].heading or ""
            lines.add_row(Text(first, style="bold"), cells[0], style=STYLES[row.style])
            for place, cell in zip(places[1:], cells[1:], strict=True):
                if cell.plain:
                    lines.add_row(Text(f"  {self._table.columns[place].heading}"), cell)
        yield lines

    def _footer(self, widths: Sequence[int]) -> RenderableType:
        if not widths:
            return Text(" ".join(filter(None, self._table.footer)), style="bold")
        grid = self._grid(widths)
        grid.add_row(*map(Text, self._table.footer), style="bold")
        return grid

    def _cells(self, row: TableRow, places: Sequence[int]) -> list[Text]:
        return [_cell(self._table.columns[at], row.texts[at]) for at in places]


def _cell(column: ColumnHead, text: str) -> Text:
    """Return a cell without control sequences; an empty cell stays empty."""
    is_plain = not text or column.kind not in _WRAPPED
    content = escape.visible(text) if is_plain else escape.clean(text, limit=column.limit)
    return Text(content, style=STYLES[column.style], no_wrap=column.kind is CellKind.PICTURE)
