"""The reference of commands is what the help texts say."""

import re
from collections import Counter
from pathlib import Path

import pytest

from perfledger_service.cli.groups import ROOT, commands_of
from perfledger_service.cli.reference import main, pages

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "commands"
PAGES = pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_up_to_date(name):
    assert PAGES[name] == (DOCS / name).read_text(encoding="utf-8"), "run `make docs`"


def test_no_page_is_left_over():
    assert {path.name for path in DOCS.iterdir()} == set(PAGES)


def test_every_example_is_on_a_page():
    text = "\n".join(PAGES.values())

    assert [
        example
        for help_command in commands_of(ROOT)
        for example in help_command.examples
        if example not in text
    ] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_taken_in(name):
    lines = PAGES[name].splitlines()

    assert len(lines) <= 250
    assert [line for line in lines if len(line) > 120] == []


@pytest.mark.parametrize("name", PAGES)
def test_each_option_of_a_command_has_a_meaning_of_its_own(name):
    for section in PAGES[name].split("\n## ")[1:]:
        meanings = Counter(re.findall(r"^\| `--[^`]+` \| (.*) \|$", section, re.MULTILINE))

        assert [text for text, count in meanings.items() if count > 1] == [], section


def test_the_pages_are_written_into_a_folder(tmp_path):
    main(tmp_path)

    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == PAGES
