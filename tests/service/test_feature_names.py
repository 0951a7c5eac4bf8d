"""One word finds a feature: its command, use case and rendering have the same name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from perfledger_service.cli.groups import ROOT, Group

REPOSITORY = Path(__file__).parent.parent.parent
SERVICE = REPOSITORY / "service" / "perfledger_service"
README = REPOSITORY / "service" / "README.md"
LAYERS = ("usecases", "rendering")
# Use cases of `perfledger server …` stand in the folder of their subject.
ANY_FOLDER = "server"


def command_modules(group: Group = ROOT) -> Iterator[str]:
    """Yield "fleet/forecast" and all others that the groups name."""
    for member in group.members.values():
        if isinstance(member, Group):
            yield from command_modules(member)
        else:
            yield member.split(":")[0].replace(".", "/")


COMMANDS = sorted(set(command_modules()))


def exceptions() -> dict[str, dict[str, list[str]]]:
    """Return, by command, the modules that the README names in place of those of the same name."""
    text = README.read_text(encoding="utf-8").split("\n## Names\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+/\w+)` \| (.*?) \| (.*?) \|$", text, re.MULTILINE)
    return {
        command: {
            layer: re.findall(r"`(\w+/\w+)`", cell)
            for layer, cell in zip(LAYERS, cells, strict=True)
            if cell != "same"
        }
        for command, *cells in rows
    }


def imports_of(command: str) -> set[str]:
    """Return the modules of the service that a command imports, as paths."""
    tree = ast.parse(SERVICE.joinpath("cli", f"{command}.py").read_text(encoding="utf-8"))
    return {
        (node.module or "").removeprefix("perfledger_service.").replace(".", "/")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
    }


def has_same_name(command: str, layer: str) -> bool:
    """Return whether a command imports the module of its own name."""
    group, name = command.split("/")
    folder = r"\w+" if group == ANY_FOLDER and layer == "usecases" else group
    return any(re.fullmatch(f"{layer}/{folder}/{name}", module) for module in imports_of(command))


@pytest.mark.parametrize("layer", LAYERS)
def test_a_command_has_the_name_of_its_use_case_and_its_rendering(layer):
    other_names = {command for command, cells in exceptions().items() if layer in cells}

    assert {command for command in COMMANDS if not has_same_name(command, layer)} == other_names


def test_an_exception_imports_what_the_readme_names():
    missing = {
        f"{command}: {layer}/{module}"
        for command, cells in exceptions().items()
        for layer, modules in cells.items()
        for module in modules
        if f"{layer}/{module}" not in imports_of(command)
    }

    assert missing == set()


def test_every_exception_is_a_command():
    assert set(exceptions()) <= set(COMMANDS)
