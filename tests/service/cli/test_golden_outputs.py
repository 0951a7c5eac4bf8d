"""What each command writes about the files of `examples`, in every format, is its golden file.

The age of a price is that of a fixed day. The database that is backed up has made-up rows, without
what a library compressed. PERFLEDGER_UPDATE_GOLDEN=1 writes the golden files.
"""

import csv
import os
import re
import shlex
import shutil
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from rich.console import Console
from sqlalchemy import insert
from typer.testing import CliRunner

from perfledger_service.cli import option_values
from perfledger_service.cli.app import app
from perfledger_service.cli.progress import TableBar
from perfledger_service.cli.server import backup, export
from perfledger_service.store.database import open_engine
from perfledger_service.store.maintenance import backup_writer
from perfledger_service.store.tables import (
    BundleRow,
    EnvironmentRow,
    ProjectRow,
    TokenRow,
    UploadRow,
)
from perfledger_service.usecases.check import check
from perfledger_service.usecases.server.backup import back_up
from perfledger_service.values.upload_views import UploadStatus
from tests.service.cli.golden_commands import COMMANDS, GOLDEN, PRICES, SMALL

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[3] / "examples"
UPDATE = "PERFLEDGER_UPDATE_GOLDEN"
# Another processor may add in another order: what is compared has six digits.
LONG_NUMBER = re.compile(r"-?\d+\.\d{6,}(?:e-?\d+)?")


MOMENT = datetime(2026, 11, 20, 12, tzinfo=UTC)
ROWS = (
    ProjectRow(id=1, repository="Octo/models", repository_key="octo/models", created_at=MOMENT),
    *(
        TokenRow(id=n, project_id=1, prefix=f"pl_{n}", sha256=f"{n:064}", created_at=MOMENT)
        for n in (1, 2, 3)
    ),
    EnvironmentRow(hash="e" * 64, machine_class="cpu:Test CPU:1", machine="{}"),
    BundleRow(sha256="b" * 64, unpacked_bytes=2, content=bytes(3_000)),
    UploadRow(
        id="1" * 32,
        project_id=1,
        bundle_sha256="b" * 64,
        environment_hash="e" * 64,
        base_sha="a" * 40,
        head_sha="c" * 40,
        head_subject="after",
        status=UploadStatus.RECEIVED,
        created_at=MOMENT,
        measured_at=MOMENT,
    ),
)


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
    for module in (option_values, check, backup, export):
        monkeypatch.setattr(module, "datetime", OnADay)

    def run(command):
        variables, words = {"COLUMNS": "100"}, shlex.split(command)
        while "=" in words[0]:
            name, _, variables[name] = words.pop(0).partition("=")
        done = CliRunner().invoke(app, words, env=variables, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


@pytest.fixture
def ledger(run, migrated_file, monkeypatch):  # noqa: ARG001 - in the folder of run
    """A database where the commands run, with an upload that waits, and its backup."""
    monkeypatch.setattr(backup_writer, "version", lambda _: "1.2.3")
    shutil.copy(migrated_file, "ledger.db")
    engine = open_engine("sqlite:///ledger.db")
    with engine.begin() as connection:
        for row in ROWS:
            connection.execute(insert(type(row)), row.model_dump())
    with TableBar(Console(quiet=True)) as watcher:
        back_up(engine, Path("backup.zip"), watcher=watcher, now=MOMENT)
    engine.dispose()


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
    return LONG_NUMBER.sub(lambda number: shortened(number[0]), text)


def shortened(number):
    """Return a number with six digits; with an exponent only if it has one."""
    short = f"{float(number):.6g}"
    return short if "e" in number.lower() else f"{Decimal(short):f}"


@pytest.mark.parametrize(
    "name",
    [  # the one that takes seconds has tests of its own
        pytest.param(name, marks=pytest.mark.slow(ci_only=name == "plan_elastic"))
        for name in COMMANDS
    ],
)
def test_a_command_writes_its_golden_files(run, run_in_formats, request, name):
    command, formats = COMMANDS[name]
    if name.startswith("server_"):
        request.getfixturevalue("ledger")

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
