"""Writes the reference of all commands, a Markdown page for each group.

`python -m perfledger_service.cli.reference docs/commands` is what `make docs` runs.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

import typer

from perfledger_service.cli.command import GroupedCommand, typer_command, unwrapped
from perfledger_service.cli.groups import ROOT, Group, command_at

EVERY_DAY = "every-day"  # the page of the commands that stand in no group
MAX_LINE = 120
COMPLETION = (
    "`perfledger --install-completion` installs completion for your shell, "
    "`perfledger --show-completion` prints it, and `perfledger --version` shows the version. "
    "The examples run on the files of `examples/commands` and `examples/review`. "
    "Exit codes are in [errors](../errors.md)."
)
NOTE = "Written by `make docs` from the help texts; a test holds that it is up to date."


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    every_day = Group("Set up, check a change, look at it.", ROOT.commands)
    texts = {f"{EVERY_DAY}.md": _page("", every_day)}
    texts |= {f"{name}.md": _page(name, group) for name, group in ROOT.groups.items()}
    return {"README.md": _index(), **texts}


def main(folder: Path) -> None:
    """Write the pages into a folder."""
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


def _index() -> str:
    every_day = ", ".join(f"`{name}`" for name in ROOT.commands)
    rows = [f"| [{EVERY_DAY}]({EVERY_DAY}.md) | {every_day} |"]
    rows += [f"| [`{name}`]({name}.md) | {group.sentence} |" for name, group in ROOT.groups.items()]
    table = "\n".join(["| group | |", "|---|---|", *rows])
    return "\n\n".join(["# Commands", NOTE, fill(COMPLETION, MAX_LINE), table]) + "\n"


def _page(name: str, group: Group) -> str:
    title = f"`perfledger {name}`" if name else "Commands of every day"
    path = ("perfledger", *((name,) if name else ()))
    sections = [f"# {title}", group.sentence, NOTE]
    sections += [_section(words, place) for words, place in _commands(group, path)]
    return "\n\n".join(sections) + "\n"


def _commands(group: Group, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, member in group.members.items():
        if isinstance(member, Group):
            yield from _commands(member, (*path, name))
        else:
            yield (*path, name), member


def _section(path: tuple[str, ...], place: str) -> str:
    """Return a command's sentence, paragraphs, options and examples."""
    member = command_at(place)
    command = typer_command(path[-1], member)
    paragraphs = unwrapped(command.help or "").split("\n\n")
    parts = [f"## `{' '.join(path)}`", *(fill(each, MAX_LINE) for each in paragraphs)]
    parts += ["\n".join(_table(command, path))]
    parts += ["\n".join(["```sh", *member.examples, "```"])]
    return "\n\n".join(parts)


def _table(command: GroupedCommand, path: tuple[str, ...]) -> Iterator[str]:
    yield "| option | meaning |"
    yield "|---|---|"
    for rows in command.rows(typer.Context(command, info_name=" ".join(path))).values():
        for name, meaning in rows:
            if not name.endswith("--help"):
                word, _, choices = name.partition(" <")
                text = f"{meaning}: {', '.join(choices[:-1].split('|'))}" if choices else meaning
                yield f"| `{_cell(word)}` | {_cell(_default_last(text))} |"


def _default_last(text: str) -> str:
    """Return the meaning of an option with its default at the end, in parentheses."""
    default = re.search(r"  \[(.*?)\]", text)
    return text if default is None else f"{text.replace(default[0], '')} ({default[1]})"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
