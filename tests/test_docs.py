"""What a user can type, set or meet is documented: these tests fail when it is not."""

import re
from pathlib import Path

import pytest
import typer

from perfledger_service import errors
from perfledger_service.cli.app import app
from perfledger_service.cli.help import HELP
from perfledger_service.settings import (
    CheckSettings,
    PriceSettings,
    ServiceSettings,
    UploadSettings,
)

ROOT = Path(__file__).parent.parent
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")


def commands():
    group = typer.main.get_group(app)
    for name, command in group.commands.items():
        inner = getattr(command, "commands", None)
        yield from (f"{name} {each}" for each in inner) if inner else (name,)


@pytest.mark.parametrize("command", list(commands()))
def test_every_command_is_in_the_reference_and_in_the_help(command):
    name, _, inner = command.partition(" ")

    assert f"`perfledger {command}" in REFERENCE or f"`{command}`" in REFERENCE
    assert f"\n  {name} " in HELP
    assert inner in HELP


@pytest.mark.parametrize("setting", list(CheckSettings.model_fields))
def test_every_setting_of_a_check_is_in_the_reference_with_its_default(setting):
    assert f"| `{setting}` |" in REFERENCE


@pytest.mark.parametrize(
    "setting",
    [
        *ServiceSettings.model_fields,
        *UploadSettings.model_fields,
        *PriceSettings.model_fields,
    ],
)
def test_every_setting_of_the_service_is_in_the_reference(setting):
    assert f"`PERFLEDGER_{setting.upper()}`" in REFERENCE


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.PerfledgerError)
    ],
)
def test_every_error_is_in_the_reference_and_in_the_tree(name):
    assert f"| `{name}` |" in REFERENCE
    assert name in (errors.__doc__ or "")


@pytest.mark.parametrize("path", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/*.md")))
def test_every_file_that_a_page_links_is_there(path):
    text = path.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)\)|(?:src|srcset)=\"([^\":]+)\"", text)

    missing = [
        name for pair in links for name in pair if name and not (path.parent / name).exists()
    ]
    assert missing == []
