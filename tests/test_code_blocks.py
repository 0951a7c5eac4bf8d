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

from tests.product.command_lines import parse

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
    (f"{path.relative_to(ROOT)} {number}", language, text)
    for path in PAGES
    for number, (language, text) in enumerate(blocks_of(path), 1)
]
# One shell for all files: it says which of them it cannot read.
READ_SCRIPTS = 'for script; do bash -n "$script" || echo "$script"; done'


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


@pytest.mark.parametrize("language", sorted({language for _, language, _ in BLOCKS} - {"sh"}))
def test_a_block_is_in_the_language_that_it_says(language):
    assert [
        place
        for place, language_of, text in BLOCKS
        if language_of == language and not is_in(language, text)
    ] == []


def is_in(language, text):
    """Say whether a block is in a language, or raise the error of its reader."""
    match language:
        case "python":
            compile(text, "page", "exec")
            return True
        case "toml":
            return tomllib.loads(text) is not None
        case "yaml":
            return all(yaml.safe_load_all(text))
        case "json":
            json.loads(text)
            return True
        case "console":
            return "$ " in text
        case _:
            return language in UNREAD or not language


def test_a_shell_can_read_every_script_of_a_page(tmp_path):
    scripts = [(place, text) for place, language, text in BLOCKS if language == "sh"]
    files = [tmp_path / place.replace("/", " ") for place, _ in scripts]
    for file, (_, text) in zip(files, scripts, strict=True):
        file.write_text(text, encoding="utf-8")
    (wrong := tmp_path / "wrong").write_text("for a in b; echo\n")

    command = ["bash", "-c", READ_SCRIPTS, "bash"]
    read = [
        subprocess.run([*command, *paths], capture_output=True, text=True, check=False)
        for paths in (files, [wrong])
    ]

    assert scripts
    assert (read[0].stdout, read[0].stderr) == ("", "")
    assert read[1].stdout == f"{wrong}\n"


def test_the_program_knows_every_command_and_option_of_a_block():
    for _, language, text in BLOCKS:
        for command in commands_in(shell_lines(language, text)):
            with suppress(Exit):  # --version and --help
                parse(command)


def shell_lines(language, text):
    """Return what a block has a shell run; nothing for a block in another language."""
    if language == "console":
        return "\n".join(line for line in text.splitlines() if line.startswith("$ "))
    return text if language == "sh" else ""


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
    counts = [len(list(commands_in(text))) for _, _, text in BLOCKS]

    assert sum(map(bool, counts)) > len(BLOCKS) / 2
