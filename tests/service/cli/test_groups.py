"""What holds of every command: its help, its names, what a help imports, how a file is named."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app
from perfledger_service.cli.groups import ROOT, Group, commands_of, group_examples
from perfledger_service.errors import PerfledgerError

HEAVY = (
    "numpy",
    "rich",
    "pydantic",
    "scipy",
    "sqlalchemy",
    "sqlmodel",
    "jinja2",
    "msgspec",
    "pydantic_settings",
)
EXAMPLES = Path(__file__).parents[3] / "examples"
FILES = {
    "files/missing.x": None,
    "files/folder.x": "",
    "files/empty.x": b"",
    "files/binary.x": bytes(range(256)) * 20,
}
FOLDERS_ARE_READ = {"history detect FILE", "history import FILE --repository octo/models --dry-run"}
COMMANDS_OF_FILES = (
    "report FILE",
    "compare FILE before.csv",
    "compare before.csv FILE",
    "upload FILE --upload-url http://127.0.0.1:9",
    "bench power FILE",
    *sorted(FOLDERS_ARE_READ),
    "trace summary FILE",
    "trace summary trace.json FILE",
    "trace diff FILE head.json",
    "trace diff base.json FILE",
    "trace whatif FILE --speedup input=2",
    "trace mfu FILE",
    "cost compare --bundle FILE",
    "cost compare --prices FILE",
    "cost compare --overrides FILE",
    "cost compare --contract FILE",
    "cost compare --exchange-rates FILE",
    "cost change FILE",
    "cost change bundle.json --config FILE",
    "cost project FILE",
    "cost coverage FILE",
    "fleet hours FILE --config fleet.toml",
    "fleet hours usage.csv --config FILE",
    "fleet utilization FILE",
    "fleet allocate FILE --bill bill.csv",
    "fleet allocate usage.csv --bill FILE",
    "fleet allocate usage.csv --bill bill.csv --quotas FILE",
    "fleet forecast FILE",
    "fleet start-window FILE --job-hours 6",
    "plan rightsize FILE --p99 80ms --request-rate 10",
    "plan rightsize H100-80GB=FILE --p99 80ms --request-rate 10",
    "plan queue FILE",
    "plan simulate FILE",
    "plan simulate jobs.csv --cluster FILE",
    "plan elastic FILE --speeds speeds.csv --capacity A100-80GB=8",
    "plan elastic jobs.csv --speeds FILE --capacity A100-80GB=8",
    "prices check FILE",
    "prices check prices.csv --previous FILE",
    "prices diff FILE prices.csv",
    "prices diff packaged FILE",
    "prices update --file FILE --as-of 2026-11-20",
    "prices bill FILE",
    "review --quarter 2026Q3 --plan FILE --bill bill.csv --output out --json",
    "review --quarter 2026Q3 --plan plan.toml --bill FILE --output out --json",
    "review --quarter 2026Q3 --plan plan.toml --bill bill.csv --previous FILE --output out --json",
    "runner --launcher FILE --upload-url http://127.0.0.1:9",
)
EMPTY_IS_VALID = (
    "cost change bundle.json --config FILE",
    "cost compare --overrides FILE",
    "cost compare --contract FILE",
)
MAX_COLUMNS = 80
SHORT_FLAGS = {"-h", "-k"}  # as other tools have them: pytest's -k
# Printed by a child for each help in turn: what is imported by then.
PROBE = """
import contextlib, io, json, sys
from perfledger_service.cli.app import app
for path in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        app([*path, "--help"], prog_name="perfledger", standalone_mode=False)
    heavy = sorted(set(%r) & set(sys.modules))
    print(json.dumps([path, bool(shown.getvalue()), heavy]))
"""


def paths(group, path=()):
    yield path
    for name, member in group.members.items():
        if isinstance(member, Group):
            yield from paths(member, (*path, name))
        else:
            yield (*path, name)


HELPS = list(paths(ROOT))


@cache
def help_of(path):
    done = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "80"}, prog_name="perfledger")
    assert done.exit_code == 0, done.output
    return done.stdout


def named(path):
    return " ".join(("perfledger", *path))


def test_no_help_imports_what_a_command_needs_to_run():
    done = subprocess.run(
        [sys.executable, "-c", PROBE % (HEAVY,)],
        input=json.dumps(HELPS),
        capture_output=True,
        text=True,
        check=True,
    )
    helps = [json.loads(line) for line in done.stdout.splitlines()]

    assert [tuple(path) for path, _, _ in helps] == HELPS
    assert all(has_text for _, has_text, _ in helps)
    assert [(path, heavy) for path, _, heavy in helps if heavy] == []


def test_a_help_fits_in_eighty_columns():
    assert [
        (named(path), line)
        for path in HELPS
        for line in help_of(path).splitlines()
        if len(line) > MAX_COLUMNS
    ] == []


def test_a_help_begins_with_one_sentence():
    beginnings = {path: " ".join(help_of(path).partition("\n\n")[0].split()) for path in HELPS}

    assert [
        (named(path), text)
        for path, text in beginnings.items()
        if not re.fullmatch(r"[A-Z][^.]*(\.[^. ][^.]*)*\.", text)
    ] == []


def test_a_help_ends_with_two_or_three_examples_of_it():
    for path in HELPS:
        text = help_of(path).partition("\nExamples:\n")[2]
        examples = text.replace(" \\\n", "").splitlines()

        assert 2 <= len(examples) <= 3, named(path)
        assert all(named(path) in " ".join(example.split()) for example in examples), named(path)


def test_a_help_has_no_words_of_the_parser():
    assert [
        (named(path), words)
        for path in HELPS
        if (words := re.findall(r"<str>|<int>|<float>|<list\[|x>=|/ --no-", help_of(path)))
    ] == []


def test_options_are_words_that_begin_with_two_dashes():
    options = {
        option
        for path in HELPS
        for option in re.findall(r"^  (?:.*, )?(-\S+)", help_of(path), re.MULTILINE)
    }
    wrong = {
        option for option in options if not re.fullmatch(r"--[a-z][a-z0-9]*(-[a-z0-9]+)*", option)
    }

    assert wrong <= {*SHORT_FLAGS, "-h,"}


def test_every_command_that_has_formats_has_json_and_a_file():
    texts = [help_of(path) for path in HELPS]
    formatted = [
        text
        for text in texts
        if re.search(r"--format <.*json", text) and "review" not in text.splitlines()[0]
    ]

    assert len(formatted) > 30
    assert all("  --json " in text and "  --output " in text for text in formatted)


def test_an_option_takes_the_same_kind_of_value_in_every_command():
    values = {"--device-price", "--output", "--request-rate", "--step-seconds", "--workload"}
    metavars = defaultdict(set)
    for path in HELPS:
        for option, metavar in re.findall(r"^  (--\S+) ([A-Z|=/]+)\b", help_of(path), re.MULTILINE):
            metavars[option].add(metavar)

    assert {option for option, each in metavars.items() if len(each) > 1} == values


def test_an_amount_has_one_unit_in_every_command():
    units = defaultdict(set)
    for path in HELPS:
        options = re.findall(r"^  --(\S+) ", help_of(path), re.MULTILINE)
        for amount, _, unit in (option.rpartition("-") for option in options):
            if unit in {"seconds", "minutes", "hours", "percent", "share"}:
                units[amount].add(unit)

    # A fleet is measured in device-hours, and a project's budget for a week in device-minutes.
    assert [amount for amount, each in units.items() if len(each) > 1] == ["device"]
    assert not any("share" in each for each in units.values())  # shares are in percent


def test_every_command_that_prints_a_result_has_json():
    serving = {("server", "run"), ("runner",)}  # they run until they are ended
    commands = [path for path in HELPS if "\nCommands:\n" not in help_of(path) and path]

    assert {path for path in commands if "  --json " not in help_of(path)} - {()} == serving


def test_a_word_that_is_nearly_a_command_is_answered_with_the_command():
    done = CliRunner().invoke(app, ["fleet", "forcast"])

    assert done.exit_code == 2
    assert "Did you mean 'forecast'?" in done.stderr


def test_a_group_without_a_command_shows_its_help():
    assert (
        "Usage: perfledger fleet"
        in CliRunner().invoke(app, ["fleet"], prog_name="perfledger").output
    )


def test_a_group_shows_examples_of_its_first_commands():
    fleet = ROOT.members["fleet"]
    assert isinstance(fleet, Group)

    assert [example.split()[2] for example in group_examples(fleet)] == [
        "hours",
        "utilization",
        "allocate",
    ]


def test_commands_are_found_at_every_depth():
    assert len(list(commands_of(ROOT))) == len({id(each) for each in commands_of(ROOT)}) == 88


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "work"
    shutil.copytree(EXAMPLES / "review", path)
    shutil.copytree(EXAMPLES / "commands", path, dirs_exist_ok=True)
    for name, content in FILES.items():
        file = path / name
        file.parent.mkdir(exist_ok=True)
        if content:
            file.write_bytes(content)
        elif content is not None:
            file.mkdir() if content == "" else file.touch()
    monkeypatch.chdir(path)
    monkeypatch.setenv("PERFLEDGER_UPLOAD_TOKEN", f"pl_0123abcd_{'s' * 43}")
    return path


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", COMMANDS_OF_FILES)
def test_an_unreadable_file_is_named_as_it_was_given(command):
    hold_path(command)


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("kind", ["usage", "activity", "jobs", "load"])
def test_a_file_that_cannot_be_imported_is_named_as_it_was_given(kind, database_url, monkeypatch):
    monkeypatch.setenv("PERFLEDGER_DATABASE_URL", database_url)

    hold_path(f"server import {kind} FILE")


def hold_path(command):
    for name in FILES:
        if command in EMPTY_IS_VALID and "empty" in name:
            continue
        done = CliRunner().invoke(app, shlex.split(command.replace("FILE", name)))

        assert isinstance(done.exception, PerfledgerError), (name, done.exception, done.output)
        assert done.exception.exit_code == 2, name
        assert name in str(done.exception), (name, str(done.exception))
