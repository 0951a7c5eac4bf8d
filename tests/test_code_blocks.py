"""Every block of code on a page is read by the program that it is for.

The tutorial runs as a whole (test_tutorial.py), the examples of the reference in test_examples.py.
"""

import json
import re
import shlex
import subprocess
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from typer import Exit

from tests.command_lines import parse

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += [path for path in sorted(ROOT.glob("*/README.md")) if path.parent.name != "docs"]
BLOCK = re.compile(r"(?ms)^( *)```(\w*)\n(.*?)^\1```$")
# `make`'s and others' output, templates of texts, and doctests, which another test runs.
UNREAD = {"text", "markdown", "pycon"}
# A command begins a line, or follows one of these.
COMMAND = re.compile(
    r"(?:^|[;&|(]|\bdo |\bthen |\$ )\s*(?:[A-Z_]+=\S+ )*(?:\S*/)?perfledger ", re.MULTILINE
)


def blocks_of(path):
    for indent, language, text in BLOCK.findall(path.read_text(encoding="utf-8")):
        yield language, re.sub(rf"(?m)^{indent}", "", text)


BLOCKS = [
    pytest.param(language, text, id=f"{path.relative_to(ROOT)} {number}")
    for path in PAGES
    for number, (language, text) in enumerate(blocks_of(path), 1)
]


def commands_in(text):
    """Yield the words of each command of ours in a script, to its end."""
    script = re.sub(r"\\\n\s*", " ", text)
    for place in COMMAND.finditer(script):
        line = script[place.end() :].partition("\n")[0]
        words = shlex.shlex(line, posix=True, punctuation_chars=";&|()<>")
        words.commenters, words.whitespace_split = "#", True
        command = ["perfledger"]
        for word in words:
            if word and set(word) <= set(";&|()<>"):
                break
            command.append(word)
        yield command


@pytest.mark.parametrize(("language", "text"), BLOCKS)
def test_a_block_is_in_the_language_that_it_says(language, text):
    match language:
        case "python":
            compile(text, "page", "exec")
        case "toml":
            tomllib.loads(text)
        case "yaml":
            assert all(yaml.safe_load_all(text))
        case "json":
            json.loads(text)
        case "sh":
            done = subprocess.run(
                ["bash", "-n", "-c", text], capture_output=True, text=True, check=False
            )
            assert (done.returncode, done.stderr) == (0, "")
        case "console":
            assert "$ " in text
        case _:
            assert language in UNREAD or not language


@pytest.mark.parametrize(
    ("language", "text"), [each for each in BLOCKS if each.values[0] in {"sh", "console"}]
)
def test_the_program_knows_every_command_and_option_of_a_block(language, text):
    if language == "console":
        text = "\n".join(line for line in text.splitlines() if line.startswith("$ "))
    for command in commands_in(text):
        with suppress(Exit):  # --version and --help
            parse(command)


@pytest.mark.parametrize(
    "line",
    [
        "perfledger chek",
        "perfledger check --fast",
        "cd a && perfledger server db",
        "$ perfledger x",
    ],
)
def test_what_the_program_does_not_know_is_found(line):
    [command] = commands_in(line)

    with pytest.raises((AssertionError, Exception)):
        parse(command)


def test_most_blocks_have_a_command():
    counts = [len(list(commands_in(block.values[1]))) for block in BLOCKS]

    assert sum(map(bool, counts)) > len(BLOCKS) / 2
