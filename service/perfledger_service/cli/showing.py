"""A text or a table in, what the terminal and a file show of it out."""

from pathlib import Path

import typer
from rich.console import Console, RenderableType

from perfledger_service.errors import UsageError
from perfledger_service.pages.terminal import plain


def show_table(shown: RenderableType, output: Path | None) -> None:
    """Show a table in the terminal, and write it without colour into the file if there is one."""
    if output is not None:
        _write(plain(shown), output)
    Console().print(shown)


def show_text(text: str, output: Path | None) -> None:
    """Write a text where it was asked for: into the file, else to the terminal."""
    if output is None:
        typer.echo(text, nl=False)
    else:
        _write(text, output)


def _write(text: str, output: Path) -> None:
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        msg = f"cannot write {output}: {error.strerror}"
        raise UsageError(msg) from error
