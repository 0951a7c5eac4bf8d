"""A text or a table in, what the terminal and a file show of it out."""

import os
from pathlib import Path

import typer
from rich.console import Console, RenderableType

from perfledger_service.errors import UsageError
from perfledger_service.pages.terminal import plain


def show_table(shown: RenderableType, output: Path | None) -> None:
    """Show a table in the terminal, and write it without colour into the file if there is one."""
    if output is not None:
        write_text(plain(shown), output)
    Console().print(shown)


def show_text(text: str, output: Path | None) -> None:
    """Write a text where it was asked for: into the file, else to the terminal."""
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_text(text, output)


def write_text(text: str, output: Path) -> None:
    """Write a text into a file; raises UsageError where that cannot be done."""
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        msg = f"cannot write {output}: {error.strerror}"
        raise UsageError(msg) from error


def check_writable(output: Path) -> None:
    """Raise UsageError for a file that cannot be written, before its content takes minutes."""
    if why := _why_not(output):
        msg = f"cannot write {output}: {why}"
        raise UsageError(msg)


def _why_not(output: Path) -> str:
    """Say why a file cannot be written, "" if it can."""
    try:
        if output.is_dir():
            return "it is a folder"
        if not output.parent.is_dir():
            return f"there is no folder {output.parent}"
        is_allowed = os.access(output if output.exists() else output.parent, os.W_OK)
    except (OSError, ValueError) as error:  # a name too long, a folder not to be looked into
        return str(getattr(error, "strerror", None) or error)
    return "" if is_allowed else "not allowed"
