"""Writes a command's result in the format and to the file that its options give."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from perfledger_service.cli.option_groups import out
from perfledger_service.errors import UsageError

if TYPE_CHECKING:  # these would make every help slow
    from rich.console import RenderableType

    from perfledger_service.rendering.layout.document import Document

Result = TypeVar("Result")


class Format(StrEnum):
    """The format of a result."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    SVG = "svg"
    TOML = "toml"
    SHELL = "shell"
    SPEEDSCOPE = "speedscope"


# The formats of every result that is rendered as a document.
DOCUMENT = (Format.TABLE, Format.JSON, Format.CSV, Format.MARKDOWN)


class Formats:
    """The formats that a command offers, the default first; annotates an `Output`."""

    def __init__(self, *formats: Format) -> None:
        self.formats = formats


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedOutput:
    """The options for the format of a printed result."""

    format: Annotated[Format, out("how to write the result")]
    json: Annotated[bool, out("short for --format json", flag="--json")] = False

    @property
    def chosen(self) -> Format:
        """Return the chosen format."""
        return Format.JSON if self.json else self.format

    @property
    def file(self) -> Path | None:
        """Return the file to write the result to, None to print it."""
        return None

    def write_document(
        self,
        result: Result,
        to_document: "Callable[[Result], Document]",
        *,
        svg: Callable[[Result], str] | None = None,
    ) -> None:
        """Render a result as a document, or as a chart if the format is SVG."""
        charts = {} if svg is None else {Format.SVG: svg}
        self.write(result, document_formats(to_document) | charts)

    def write(
        self, result: Result, renderers: Mapping[Format, "Callable[[Result], RenderableType]"]
    ) -> None:
        """Render a result; also show a table in the terminal if the output is a file."""
        rendered = renderers[self.chosen](result)
        if isinstance(rendered, str):
            write_text(rendered, self.file)
        else:
            _write_table(rendered, self.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output(PrintedOutput):
    """The options for the format and the file of a result."""

    output: Annotated[Path | None, out("write the result to this file", metavar="FILE")] = None

    @property
    def file(self) -> Path | None:
        """Return the file to write the result to, None to print it."""
        return self.output


PrintedDocument = Annotated[PrintedOutput, Formats(*DOCUMENT)]
DocumentOutput = Annotated[Output, Formats(*DOCUMENT)]
ChartOutput = Annotated[Output, Formats(*DOCUMENT, Format.SVG)]


def document_formats(
    to_document: Callable[[Result], "Document"],
) -> dict[Format, "Callable[[Result], RenderableType]"]:
    """Return the formats of every document."""
    from perfledger_service.rendering.layout import writers

    return {
        Format.TABLE: lambda result: writers.to_terminal(to_document(result)),
        Format.MARKDOWN: lambda result: writers.to_markdown(to_document(result)),
        Format.JSON: lambda result: writers.to_json(to_document(result)),
        Format.CSV: lambda result: writers.to_csv(to_document(result)),
    }


def write_text(text: str, output: Path | None) -> None:
    """Write a text to a file, or to the terminal without one, as whole lines; raises UsageError."""
    if output is None:
        typer.echo(text, nl=not text.endswith("\n"))
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        msg = f"cannot write {output}: {error.strerror}"
        raise UsageError(msg) from error


def check_writable(output: Path) -> None:
    """Raise UsageError if the file cannot be written, before its content is computed."""
    if reason := _unwritable_reason(output):
        msg = f"cannot write {output}: {reason}"
        raise UsageError(msg)


def _write_table(table: "RenderableType", output: Path | None) -> None:
    from rich.console import Console

    from perfledger_service.rendering.layout.writers import plain_lines

    if output is not None:
        write_text(plain_lines(table), output)
    Console().print(table, crop=False)


def _is_there(output: Path) -> bool:
    """Return whether a file is there; raise OSError for an impossible name, as 3.14 does not."""
    try:
        output.stat()
    except FileNotFoundError:
        return False
    return True


def _unwritable_reason(output: Path) -> str:
    """Return the reason why a file cannot be written, "" if it can."""
    try:
        if output.is_dir():
            return "it is a folder"
        if not output.parent.is_dir():
            return f"there is no folder {output.parent}"
        is_allowed = os.access(output if _is_there(output) else output.parent, os.W_OK)
    except (OSError, ValueError) as error:  # the name is too long, or the folder is not readable
        return str(getattr(error, "strerror", None) or error)
    return "" if is_allowed else "permission denied"
