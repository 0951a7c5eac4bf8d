"""Writes documents as terminal text, Markdown, CSV and JSON."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from decimal import Decimal
from itertools import groupby
from typing import TypeAlias, cast

from rich.console import Console, Group, RenderableType
from rich.text import Text

from perfledger_cost_models.csv_table import csv_text
from perfledger_cost_models.money import Usd, without_noise
from perfledger_service.rendering.layout import escape
from perfledger_service.rendering.layout.document import (
    MAX_PARAGRAPH,
    Block,
    CellKind,
    ColumnHead,
    Document,
    Paragraph,
    Preformatted,
    Table,
    TableRow,
    TextStyle,
)
from perfledger_service.rendering.layout.number_format import NBSP
from perfledger_service.rendering.layout.terminal_table import STYLES, TerminalTable

# A value as a JSON parser returns it.
Plain: TypeAlias = "str | float | list[Plain] | dict[str, Plain] | None"

WIDTH = 80  # columns of a file, or of a terminal of unknown width
# Characters that make a figure a code span in Markdown.
_ACTIVE = re.compile(r"[`|*_\[\]\\@#$~!]|<\S")


def to_terminal(document: Document) -> Group:
    """Return a document for a terminal; tables that are too wide are lists of rows."""
    return terminal_blocks(document.blocks)


def terminal_blocks(blocks: Iterable[Block]) -> Group:
    """Return blocks for a terminal, with empty lines between blocks of different kinds."""
    parts: list[RenderableType] = []
    previous: Block | None = None
    for block in blocks:
        if isinstance(block, Table) and not _is_shown(block):
            continue
        if previous is not None and _is_apart(previous, block):
            parts.append(Text())
        parts.append(_terminal_block(block))
        previous = block
    return Group(*parts)


def plain_lines(renderable: RenderableType) -> str:
    """Return the terminal text without colour, for a file or a log."""
    console = Console(width=WIDTH, no_color=True, force_terminal=False, color_system=None)
    with console.capture() as capture:
        console.print(renderable, crop=False)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def to_markdown(document: Document) -> str:
    """Return a document as Markdown in which untrusted text has no effect."""
    parts = (part for block in document.blocks for part in _markdown_block(block))
    return "\n\n".join(parts) + "\n"


def to_json(document: Document) -> str:
    """Return a document as JSON: raw values, money as decimal text, null for unknown values."""
    return json.dumps(json_values(document), indent=2, allow_nan=False) + "\n"


def json_values(document: Document) -> dict[str, Plain]:
    """Return a document as JSON values, to be part of another."""
    head: dict[str, Plain] = (
        {"format": document.name, "version": document.version} if document.name else {}
    )
    tables: dict[str, Plain] = {
        table.key: [
            {
                column.key: plain_value(value)
                for column, value in zip(table.columns, row.values, strict=True)
                if column.key
            }
            for row in table.rows
        ]
        for table in document.keyed_tables
        if table.in_json
    }
    facts = {key: plain_value(value) for key, value in document.facts.items()}
    return head | facts | tables


def to_csv(document: Document) -> str:
    """Return a document's tables as CSV, raw values under their keys; empty where unknown.

    Several tables share one header: the column `table` names a row's table, and columns of other
    tables are empty. A document without tables is one row of its facts.
    """
    tables = [table for table in document.keyed_tables if table.in_csv]
    head = dict(_flat({key: document.facts[key] for key in document.row_facts}))
    records = [
        {**head, "table": table.key, **_csv_record(table.columns, row)}
        for table in tables
        for row in table.rows
    ]
    keys = dict.fromkeys(key for table in tables for key in _csv_keys(table.columns))
    header = [*head, *(["table"] if len(tables) > 1 else []), *keys]
    if not tables:
        records = [dict(_flat(document.facts))]
        header = list(records[0])
    return csv_text(header, records)


def plain_value(value: object) -> Plain:
    """Return a value for JSON: records nested, money as text, null for NaN and infinity.

    Money is a value of its type, Decimal or Usd; any other number stays one.
    """
    if value is None or isinstance(value, str | int | float | Decimal | date):
        return _plain_scalar(value)
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return {str(inner): plain_value(each) for inner, each in pairs}
    if isinstance(value, Iterable):
        return [plain_value(each) for each in cast("Iterable[object]", value)]
    if is_dataclass(value):
        return {each.name: plain_value(getattr(value, each.name)) for each in fields(value)}
    msg = f"{type(value).__name__} has no form in JSON"
    raise TypeError(msg)


def _plain_scalar(value: str | float | Decimal | date | None) -> str | float | None:
    match value:
        case Usd():
            return _plain_scalar(without_noise(value) if math.isfinite(value) else None)
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return f"{value:f}" if value.is_finite() else None
        case date():
            return value.isoformat()
        case str():
            return str(value)  # also of an enum
        case _:
            return value


def _is_shown(table: Table) -> bool:
    has_headings = any(column.heading is not None for column in table.columns)
    return has_headings and bool(table.rows)


def _is_apart(previous: Block, block: Block) -> bool:
    """Return whether an empty line separates two blocks, as around tables and before headings."""
    if isinstance(block, Paragraph) and isinstance(previous, Paragraph):
        return block.style is TextStyle.HEADING or (
            block.style is TextStyle.NOTE and previous.style is not TextStyle.NOTE
        )
    is_titled = isinstance(previous, Paragraph) and previous.style in (
        TextStyle.TITLE,
        TextStyle.HEADING,
    )
    return not is_titled


def _terminal_block(block: Block) -> RenderableType:
    match block:
        case Paragraph():
            parts = block.text.split(NBSP)  # they keep a figure and its unit together
            content = NBSP.join(escape.clean(part, limit=MAX_PARAGRAPH) for part in parts)
            return Text(content, style=STYLES[block.style])
        case Preformatted():
            return Text(escape.visible(block.text), overflow="fold")
        case Table():
            return TerminalTable(block)


def _markdown_block(block: Block) -> Iterator[str]:
    match block:
        case Paragraph():
            yield _markdown_paragraph(block)
        case Preformatted():
            yield escape.fence(block.text, max_characters=MAX_PARAGRAPH, max_lines=100)
        case Table():
            if _is_shown(block):
                yield from _markdown_table(block)


def _markdown_paragraph(block: Paragraph) -> str:
    text = escape.prose(block.text, names=block.names, limit=MAX_PARAGRAPH, in_table=False)
    match block.style:
        case TextStyle.TITLE:
            return f"### {text}"
        case TextStyle.HEADING | TextStyle.STRONG:
            return f"**{text}**"
        case _:
            return text


def _markdown_table(table: Table) -> Iterator[str]:
    places = [
        index
        for index, column in enumerate(table.columns)
        if column.heading is not None and column.kind is not CellKind.PICTURE
    ]
    columns = [table.columns[place] for place in places]
    rows = table.rows[: table.most]
    rule = "|".join("--:" if column.kind is CellKind.FIGURE else ":--" for column in columns)
    head = [_markdown_row([column.heading or "" for column in columns]), f"|{rule}|"]
    groups = [(group, tuple(alike)) for group, alike in groupby(rows, key=lambda row: row.group)]
    for number, (group, alike) in enumerate(groups, start=1):
        if group:
            yield f"**{escape.prose(group, in_table=False)}**"
        lines = [
            _markdown_row([_markdown_cell(table.columns[at], row.texts[at]) for at in places])
            for row in alike
        ]
        if table.footer and number == len(groups):
            lines.append(_markdown_row([f"**{text}**" if text else "" for text in table.footer]))
        yield "\n".join([*head, *lines])
    left = len(table.rows) - len(rows)
    if left > 0:
        yield f"and {left:,} more"


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(column: ColumnHead, text: str) -> str:
    if not text:
        return ""
    match column.kind:
        case CellKind.NAME:
            return escape.code(text, limit=column.limit)
        case CellKind.WORDS | CellKind.REMARK:
            return escape.prose(text, limit=column.limit)
        case CellKind.FIGURE | CellKind.BAR | CellKind.PICTURE:
            figure = escape.visible(text)
            return escape.code(figure) if _ACTIVE.search(figure) else figure


def _csv_keys(columns: Sequence[ColumnHead]) -> Iterator[str]:
    for column in columns:
        if not column.key or not column.in_csv:
            continue
        if column.parts:
            yield from (f"{column.key}_{part}" for part in column.parts)
        else:
            yield column.key


def _csv_record(columns: Sequence[ColumnHead], row: TableRow) -> dict[str, object]:
    record: dict[str, object] = {}
    for column, value in zip(columns, row.values, strict=True):
        if not column.key or not column.in_csv:
            continue
        raw = plain_value(value)
        if not column.parts:
            record[column.key] = _csv_value(raw)
        elif isinstance(raw, dict):
            for part in column.parts:
                record[f"{column.key}_{part}"] = _csv_value(raw[part])
    return record


def _csv_value(raw: Plain) -> object:
    """Return a value as a cell that no spreadsheet evaluates; texts of a list are joined."""
    match raw:
        case None:
            return ""
        case str():
            return escape.cell(raw)
        case bool():
            return str(raw).lower()
        case int() | float():
            return raw
        case list():
            return escape.cell("; ".join(map(_cell_text, raw)))
        case _:
            return escape.cell(json.dumps(raw))


def _cell_text(value: Plain) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _flat(values: Mapping[str, object], *, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield facts with flat names: a record's fields are prefixed with its name."""
    for key, value in values.items():
        raw = plain_value(value)
        if isinstance(raw, dict):
            yield from _flat(raw, prefix=f"{prefix}{key}_")
        else:
            yield f"{prefix}{key}", _csv_value(raw)
