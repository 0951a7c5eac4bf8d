from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

from perfledger_service.cli.command import command, typer_command
from perfledger_service.cli.option_groups import argument, how, what
from perfledger_service.cli.output import DOCUMENT, Format, Formats, Output
from perfledger_service.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedFlags:
    rate: Annotated[float, how("how fast", metavar="RATE", minimum=0)] = 1.0
    is_quiet: Annotated[bool, what("say nothing", flag="--quiet")] = False


@pytest.fixture
def calls():
    return []


@pytest.fixture
def command_group(calls):
    @command(
        examples=(
            "tool FILE",
            "tool FILE --output a-file-with-a-long-name.json --rate 12345.678 --format markdown",
            "tool FILE --output a-file-with-a-longer-name-of-ours.json --rate 12345.678",
            "tool FILE --output a-file-with-a-longer-name-of-yours.json --rate 12345.678",
        )
    )
    def tool(
        file: Annotated[Path | None, argument("what is read", metavar="FILE")] = None,
        *,
        output: Annotated[Output, Formats(*DOCUMENT, Format.SVG)],
        speed: SpeedFlags,
    ) -> None:
        """Do a thing
        in one sentence.

        And say
        more of it.
        """
        calls.append((file, output, speed))

    return typer_command("tool", tool)


def run(group, *words):
    try:
        group.main(list(words), prog_name="tool", standalone_mode=False)
    except SystemExit as done:
        return done.code
    return 0


def test_a_dataclass_of_options_is_one_option_a_field_and_arrives_complete(command_group, calls):
    run(command_group, "a.csv", "--rate", "2", "--quiet", "--format", "svg")

    ((file, output, speed),) = calls
    assert file == Path("a.csv")
    assert speed == SpeedFlags(rate=2.0, is_quiet=True)
    assert (output.chosen, output.output) == (Format.SVG, None)


def test_what_is_not_given_has_the_defaults_of_the_fields(command_group, calls):
    run(command_group)

    assert calls == [(None, Output(format=Format.TABLE), SpeedFlags())]


def test_json_is_a_format_of_its_own(command_group, calls):
    run(command_group, "--json")

    assert calls[0][1].chosen is Format.JSON


@pytest.mark.parametrize("words", [("--json", "--format", "csv"), ("--format", "table", "--json")])
def test_json_beside_another_format_is_refused(command_group, calls, words):
    other = next(word for word in words if not word.startswith("--"))

    with pytest.raises(UsageError, match=f"leave out --json or --format {other}"):
        run(command_group, *words)
    assert calls == []


def test_json_may_be_asked_for_twice(command_group, calls):
    run(command_group, "--json", "--format", "json")

    assert calls[0][1].chosen is Format.JSON


def test_a_help_has_the_sentence_the_groups_and_examples_of_one_or_more_lines(
    command_group, capsys
):
    run(command_group, "--help")

    assert (
        capsys.readouterr().out
        == """\
Do a thing in one sentence.

And say more of it.

Usage: tool [OPTIONS] [FILE]

What:
  FILE     what is read
  --quiet  say nothing

How:
  --rate RATE  how fast  [default: 1.0]

Output:
  --format <table|json|csv|markdown|svg>
                                  how to write the result  [default: table]
  --json                          short for --format json
  --output FILE                   write the result to this file
  -h, --help                      Show this message and exit.

Examples:
  tool FILE
  tool FILE --output a-file-with-a-long-name.json --rate 12345.678 \\
    --format markdown
  tool FILE --output a-file-with-a-longer-name-of-ours.json --rate 12345.678
  tool FILE --output a-file-with-a-longer-name-of-yours.json \\
    --rate 12345.678
"""
    )
