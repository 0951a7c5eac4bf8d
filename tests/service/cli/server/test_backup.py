import json

import pytest

from perfledger_service.errors import PerfledgerError, UsageError
from perfledger_service.usecases.server import backup as backup_module


@pytest.fixture
def back_up(run, database_url):
    def back_up(*words):
        return run("server", "backup", *words, PERFLEDGER_DATABASE_URL=database_url)

    return back_up


@pytest.mark.slow(ci_only=True)
def test_a_backup_is_a_file_of_its_owner_with_a_line_for_each_table(
    back_up, engine, judged, make_bundle, tmp_path
):
    judged(engine, make_bundle())
    path = tmp_path / "ledger.zip"
    text = back_up(path)

    assert path.stat().st_mode & 0o777 == 0o600
    assert "rows, and was read back" in text
    assert "observation" in text
    assert "approval" not in text  # it has no rows


def test_the_json_has_the_digest_of_each_table(back_up, tmp_path):
    document = json.loads(back_up(tmp_path / "ledger.zip", "--json"))

    assert document["database"] == "sqlite"
    assert document["file"].endswith("ledger.zip")
    assert document["tables"] == []


def test_a_file_that_is_there_stays_as_it_is(back_up, tmp_path):
    path = tmp_path / "ledger.zip"
    path.write_text("the last backup")
    with pytest.raises(UsageError, match="exists: name a new file"):
        back_up(path)

    assert path.read_text() == "the last backup"


def test_a_folder_that_is_missing_is_named(back_up, tmp_path):
    with pytest.raises(UsageError, match="there is no folder"):
        back_up(tmp_path / "none" / "ledger.zip")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(28, "No space left on device"), r"cannot write .*: No space left on device"),
        (PerfledgerError("the database is damaged"), "the database is damaged"),
    ],
)
def test_a_backup_that_fails_leaves_nothing_behind(back_up, tmp_path, monkeypatch, error, text):
    def failing(_, file, **__):
        file.write(b"half")
        raise error

    monkeypatch.setattr(backup_module, "write_backup", failing)
    with pytest.raises(PerfledgerError, match=text):
        back_up(tmp_path / "ledger.zip")

    assert not [path for path in tmp_path.iterdir() if "ledger.zip" in path.name]


def test_a_backup_that_cannot_be_read_again_gets_no_name(back_up, tmp_path, monkeypatch):
    def write_half(_, file, **__):
        file.write(b"PK")

    monkeypatch.setattr(backup_module, "write_backup", write_half)
    with pytest.raises(UsageError, match="it is not a backup, or was cut off"):
        back_up(tmp_path / "ledger.zip")

    assert not [path for path in tmp_path.iterdir() if "ledger.zip" in path.name]
