"""Reads command lines of perfledger as the program does, without running them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typer.main import get_command

from perfledger_service.cli.app import app
from perfledger_service.cli.groups import LazyGroup


def parse(words: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of a command line; it raises what the program would print."""
    program, *rest = words
    assert Path(program).name == "perfledger"
    command: Any = get_command(app)
    while isinstance(command, LazyGroup):
        assert rest, f"{words} names a group"
        member = command.get_command(None, rest[0])
        assert member is not None, f"{rest[0]!r} is no command"
        command, rest = member, rest[1:]
    parameters: dict[str, Any] = command.make_context(command.name, list(rest)).params
    return parameters
