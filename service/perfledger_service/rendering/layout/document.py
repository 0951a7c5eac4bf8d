"""Holds documents of paragraphs and tables, the results of commands.

A column defines its name, its value and its text once. The functions in `writers` turn a document
into terminal text, Markdown, CSV and JSON.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import StrEnum
from operator import attrgetter
from typing import Generic, TypeVar

from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.escape import MAX_NAME

Row = TypeVar("Row")
Row_contra = TypeVar("Row_contra", contravariant=True)
Value = TypeVar("Value")

NO_FIGURE = "-"  # shown to people instead of a missing figure
MAX_PARAGRAPH = 4000  # characters
MAX_BAR = 16  # blocks of the longest bar
BLOCK = "\N{FULL BLOCK}"


class CellKind(StrEnum):
    """The content of a cell, which determines alignment, wrapping and escaping."""

    FIGURE = "figure"  # a number with its unit, a date, our own word: right-aligned, never wrapped
    NAME = "name"  # untrusted text: left-aligned, wrapped, code in Markdown
    WORDS = "words"  # our phrase or sentence: left-aligned, wrapped
    REMARK = "remark"  # words that a terminal shows below the row
    PICTURE = "picture"  # made of characters; shown only in a terminal, below the row
    BAR = "bar"  # a length made of blocks: left-aligned, never wrapped


class TextStyle(StrEnum):
    """The emphasis of a paragraph, a row or a column; it never carries meaning alone."""

    PLAIN = "plain"
    TITLE = "title"
    HEADING = "heading"
    STRONG = "strong"
    NOTE = "note"
    WARNING = "warning"
    BETTER = "better"
    WORSE = "worse"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnHead:
    """The names of a column: `key` for programs, `heading` for people, None to hide it from them.

    A key names its unit: `usd_per_hour`, `latency_p99_s`. `parts` are the fields of values that are
    records: JSON nests them, CSV has one column per field.
    """

    key: str = ""
    heading: str | None = None
    kind: CellKind = CellKind.FIGURE
    limit: int = MAX_NAME
    style: TextStyle = TextStyle.PLAIN
    parts: tuple[str, ...] = ()
    in_csv: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(ColumnHead, Generic[Row_contra]):
    """A column of a table: its raw value and its text for a row."""

    value: Callable[[Row_contra], object]
    show: Callable[[Row_contra], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """A row of a table: raw values for programs, texts for people, in column order."""

    values: tuple[object, ...]
    texts: tuple[str, ...]
    group: str = ""
    style: TextStyle = TextStyle.PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of typed values under columns.

    `key` names the table in JSON; a table without one is for people only. People see the first
    `most` rows and the number of further ones; programs get all. `footer` is a last row for people,
    with a text for each visible column. A table is not `in_json` if facts contain its rows.
    """

    columns: tuple[ColumnHead, ...]
    rows: tuple[TableRow, ...]
    key: str = ""
    most: int | None = None
    footer: tuple[str, ...] = ()
    in_csv: bool = True
    in_json: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A paragraph; `names` are untrusted texts that it quotes, each a code span in Markdown."""

    text: str
    style: TextStyle = TextStyle.PLAIN
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preformatted:
    """Lines with significant columns: a picture of characters, or a command."""

    text: str


Block = Paragraph | Preformatted | Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The result of a command: `facts` and the tables with a key for programs, `blocks` for people.

    `row_facts` are the names of facts that every CSV row repeats. `name` and `version` identify the
    JSON format; `name` is "" for a part of another document. Within a version keys are only ever
    added.
    """

    name: str
    blocks: tuple[Block, ...]
    facts: Mapping[str, object] = field(default_factory=dict[str, object])
    row_facts: tuple[str, ...] = ()
    version: int = 1

    def __post_init__(self) -> None:
        """Raise ValueError if two parts of the JSON have the same key."""
        tables = [table.key for table in self.keyed_tables if table.in_json]
        keys = ["format", "version", *self.facts, *tables]
        if len(set(keys)) != len(keys):
            msg = f"the document {self.name} has a key twice: {', '.join(keys)}"
            raise ValueError(msg)

    @property
    def keyed_tables(self) -> tuple[Table, ...]:
        """Return the tables for programs."""
        return tuple(block for block in self.blocks if isinstance(block, Table) and block.key)


def fact_document(
    document: str, facts: Mapping[str, object], sentence: str, *, names: Sequence[str] = ()
) -> Document:
    """Return the document of a command's effect: facts for programs, one sentence for people."""
    return Document(name=document, facts=facts, blocks=sentences([sentence], names=names))


def table(
    columns: Sequence[Column[Row]],
    rows: Iterable[Row],
    *,
    key: str = "",
    group: Callable[[Row], str] | None = None,
    style: Callable[[Row], TextStyle] | None = None,
    most: int | None = None,
    footer: Sequence[str] = (),
    in_csv: bool = True,
    in_json: bool = True,
) -> Table:
    """Return the table of some rows; `group` is the heading above rows that share it."""
    return Table(
        columns=tuple(columns),
        rows=tuple(
            TableRow(
                values=tuple(column.value(row) for column in columns),
                texts=tuple(column.show(row) for column in columns),
                group=group(row) if group else "",
                style=style(row) if style else TextStyle.PLAIN,
            )
            for row in rows
        ),
        key=key,
        most=most,
        footer=tuple(footer),
        in_csv=in_csv,
        in_json=in_json,
    )


def name(
    key: str,
    heading: str | None,
    value: Callable[[Row], str | None],
    *,
    show: Callable[[Row], str] | None = None,
    limit: int = MAX_NAME,
) -> Column[Row]:
    """Return a column of untrusted text; `show` returns the text for people."""
    return Column(
        key=key,
        heading=heading,
        kind=CellKind.NAME,
        limit=limit,
        value=value,
        show=show or (lambda row: value(row) or ""),
    )


def words(
    key: str,
    heading: str | None,
    value: Callable[[Row], str | None],
    *,
    kind: CellKind = CellKind.WORDS,
) -> Column[Row]:
    """Return a column of our own words, or of remarks."""
    return Column(
        key=key,
        heading=heading,
        kind=kind,
        limit=MAX_PARAGRAPH,
        value=value,
        show=lambda row: value(row) or "",
    )


def figure(
    key: str,
    heading: str | None,
    value: Callable[[Row], Value | None],
    form: Callable[[Value], str] | None = None,
) -> Column[Row]:
    """Return a column of figures; `form` formats one for people, "-" stands for None."""

    def show(row: Row) -> str:
        cell = value(row)
        return NO_FIGURE if cell is None else (form or plain_figure)(cell)

    return Column(key=key, heading=heading, style=TextStyle.PLAIN, value=value, show=show)


def display(
    heading: str,
    show: Callable[[Row], str],
    *,
    kind: CellKind = CellKind.FIGURE,
    limit: int = MAX_PARAGRAPH,
    style: TextStyle = TextStyle.PLAIN,
) -> Column[Row]:
    """Return a column for people only; programs get its values from other columns."""
    return Column(
        heading=heading,
        kind=kind,
        limit=limit,
        style=style,
        value=lambda _: None,
        show=show,
    )


def bar(share: Callable[[Row], float], *, longest: int = MAX_BAR) -> Column[Row]:
    """Return a column of bars for people: `share` is relative to the longest bar."""
    return display(
        "",
        lambda row: BLOCK * max(round(share(row) * longest), 1) if share(row) > 0 else "",
        kind=CellKind.BAR,
    )


def fact(
    key: str, value: Callable[[Row], object], *, parts: Sequence[str] = (), in_csv: bool = True
) -> Column[Row]:
    """Return a column for programs only; `parts` are the field names of record values."""
    return Column(key=key, parts=tuple(parts), in_csv=in_csv, value=value, show=lambda _: "")


def facts(*keys: str, of: str = "") -> tuple[Column[object], ...]:
    """Return a column for programs per field of a row, or of the row's field `of`."""
    record: Callable[[object], object] = attrgetter(of) if of else lambda row: row
    return tuple(fact(key, _field_of(record, key)) for key in keys)


def record_facts(
    of: type[object], record: Callable[[Row], object], *, without: Sequence[str] = ()
) -> tuple[Column[Row], ...]:
    """Return a column for programs per field of a dataclass, which is a row or its part."""
    return tuple(fact(key, _field_of(record, key)) for key in field_names(of) if key not in without)


def plain_figure(value: object) -> str:
    """Return the default text of a figure: a count, a date or a word."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,d}"
        case float():
            return number_format.count(value)
        case Decimal():
            return number_format.cents(value)
        case date():
            return number_format.day(value)
        case _:
            return str(value)


def notes(texts: Iterable[str], *, names: Sequence[str] = ()) -> tuple[Paragraph, ...]:
    """Return notes below a result: our sentences, possibly quoting `names`."""
    return tuple(Paragraph(text=text, style=TextStyle.NOTE, names=tuple(names)) for text in texts)


def sentences(texts: Iterable[str], *, names: Sequence[str] = ()) -> tuple[Paragraph, ...]:
    """Return sentences of the result itself."""
    return tuple(Paragraph(text=text, names=tuple(names)) for text in texts)


def title(text: str, *, names: Sequence[str] = ()) -> Paragraph:
    """Return a document's first line."""
    return Paragraph(text=text, style=TextStyle.TITLE, names=tuple(names))


def heading(text: str, *, names: Sequence[str] = ()) -> Paragraph:
    """Return the heading of a part of a document."""
    return Paragraph(text=text, style=TextStyle.HEADING, names=tuple(names))


def field_names(of: type[object]) -> tuple[str, ...]:
    """Return the names of a dataclass's fields."""
    return tuple(vars(of)["__dataclass_fields__"])


def attributes(of: object, *names: str) -> dict[str, object]:
    """Return some fields and properties of a value by name."""
    return {name: getattr(of, name) for name in names}


def _field_of(record: Callable[[Row], object], key: str) -> Callable[[Row], object]:
    def value(row: Row) -> object:
        return None if (part := record(row)) is None else getattr(part, key)

    return value
