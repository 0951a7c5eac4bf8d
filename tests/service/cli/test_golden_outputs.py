"""What each command writes about the files of `examples`, in every format, is its golden file.

The age of a price is that of a fixed day. PERFLEDGER_UPDATE_GOLDEN=1 writes the golden files.
"""

import csv
import os
import re
import shlex
import shutil
from datetime import datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfledger_service.cli import option_values
from perfledger_service.cli.app import app
from perfledger_service.usecases.check import check
from tests.service.cli.golden_commands import COMMANDS, GOLDEN, PRICES, SMALL

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("reader_here")]

EXAMPLES = Path(__file__).parents[3] / "examples"
UPDATE = "PERFLEDGER_UPDATE_GOLDEN"
# Another processor may add in another order: what is compared has six digits.
LONG_NUMBER = re.compile(r"-?\d+\.\d{6,}(?:e-?\d+)?")


class OnADay(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz=None):
        return datetime(2026, 11, 27, 12, tzinfo=tz)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs a command beside the examples' files and returns its output."""
    path = tmp_path / "work"
    shutil.copytree(EXAMPLES / "review", path)
    shutil.copytree(EXAMPLES / "commands", path, dirs_exist_ok=True)
    for name in PRICES:
        shutil.copy(GOLDEN / name, path)
    for name, (factor, amounts) in SMALL.items():
        write_small(path / name, factor, amounts)
    monkeypatch.chdir(path)
    for module in (option_values, check):
        monkeypatch.setattr(module, "datetime", OnADay)

    def run(command):
        words = shlex.split(command)
        done = CliRunner().invoke(app, words, env={"COLUMNS": "100"}, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


def write_small(path, factor, amounts):
    """Write a file beside another, with the amounts of these columns multiplied."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row |= {name: f"{float(row[name]) * factor:.12f}" for name in amounts if row[name]}
    with path.with_name(f"small_{path.name}").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def comparable(text):
    """Return a text without the digits that differ by processor."""
    return LONG_NUMBER.sub(lambda number: f"{float(number[0]):.6g}", text)


@pytest.mark.parametrize(
    "name",
    [  # the one that takes seconds has tests of its own
        pytest.param(name, marks=pytest.mark.slow(ci_only=name == "plan_elastic"))
        for name in COMMANDS
    ],
)
def test_a_command_writes_its_golden_files(run, run_in_formats, name):
    command, formats = COMMANDS[name]

    texts = run_in_formats(lambda format_: run(f"{command} --format {format_}"), formats)

    assert set(texts) == set(formats)
    for each in formats:
        path, text = GOLDEN / f"{name}.{each}", comparable(texts[each])
        if os.environ.get(UPDATE) == "1":
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"run again with {UPDATE}=1 if intended"


def test_no_golden_file_is_left_over():
    named = {f"{name}.{each}" for name, (_, formats) in COMMANDS.items() for each in formats}

    assert {path.name for path in GOLDEN.iterdir()} == PRICES | named
