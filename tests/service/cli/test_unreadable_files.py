"""What commands say of a file that is missing, a folder, empty or binary: its path, and no more."""

import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app
from perfledger_service.errors import PerfledgerError

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[3] / "examples"
FILES = {
    "files/missing.x": None,
    "files/folder.x": "",
    "files/empty.x": b"",
    "files/binary.x": bytes(range(256)) * 20,
}
FOLDERS_ARE_READ = {"history detect FILE", "history import FILE --repository octo/models --dry-run"}
COMMANDS = (
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


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", COMMANDS)
def test_an_unreadable_file_is_named_as_it_was_given(command):
    hold(command)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("kind", ["usage", "activity", "jobs", "load"])
def test_a_file_that_cannot_be_imported_is_named_as_it_was_given(kind, database_url, monkeypatch):
    monkeypatch.setenv("PERFLEDGER_DATABASE_URL", database_url)

    hold(f"server import {kind} FILE")


def hold(command):
    for name in FILES:
        if command in EMPTY_IS_VALID and "empty" in name:
            continue
        done = CliRunner().invoke(app, shlex.split(command.replace("FILE", name)))

        assert isinstance(done.exception, PerfledgerError), (name, done.exception, done.output)
        assert done.exception.exit_code == 2, name
        assert name in str(done.exception), (name, str(done.exception))
