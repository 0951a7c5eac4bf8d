"""Tests that a service goes on from its backup, on a new database of either kind."""

import json
import shutil
from shutil import disk_usage

import pytest
from sqlalchemy.exc import OperationalError, ProgrammingError

from perfledger_service.errors import ConflictError, SettingsError, UsageError
from perfledger_service.store.database import open_engine
from perfledger_service.usecases.server import restore as restore_module


@pytest.fixture
def backup(run, database_url, tmp_path, received, engine, make_bundle):  # noqa: PLR0917
    """A backup of a service with an upload that is not judged yet."""
    received(engine, make_bundle())
    path = tmp_path / "ledger.zip"
    run("server", "backup", path, PERFLEDGER_DATABASE_URL=database_url)
    return path


@pytest.fixture
def restore(run, tmp_path):
    def restore(*words, url=f"sqlite:///{tmp_path / 'new.db'}"):
        return run("server", "restore", *words, PERFLEDGER_DATABASE_URL=url)

    return restore


@pytest.mark.slow(ci_only=True)
def test_what_waited_is_taken_up_again(backup, restore, tmp_path, start_site):
    text = restore(backup)

    assert "rows, as on 20" in text
    assert "Uploads that the service resumes when it starts: 1." in text
    engine = open_engine(f"sqlite:///{tmp_path / 'new.db'}")
    with start_site(engine) as site:
        assert [work.upload_id for work in site.jobs.works] == ["1" * 32]
        assert site.get("/octo/models").status_code == 200
    engine.dispose()


@pytest.mark.slow(ci_only=True)
def test_a_service_moves_to_postgresql(backup, restore, postgres_url, start_site):
    document = json.loads(restore(backup, "--json", url=postgres_url))

    assert (document["database"], document["unfinished_uploads"]) == ("sqlite", 1)
    engine = open_engine(postgres_url)
    with start_site(engine) as site:
        assert site.get("/octo/models").status_code == 200
    engine.dispose()


@pytest.mark.slow(ci_only=True)
def test_the_tables_of_the_workflow_must_not_be_there(backup, restore, tmp_path):
    (tmp_path / "new-jobs.db").touch()
    with pytest.raises(ConflictError, match=r"workflow's tables are there .*new-jobs.db"):
        restore(backup)

    assert not (tmp_path / "new.db").exists()


@pytest.mark.slow(ci_only=True)
def test_a_backup_that_is_cut_off_leaves_no_database(backup, restore, tmp_path):
    backup.write_bytes(backup.read_bytes()[:-30])
    with pytest.raises(UsageError, match="it is not a backup, or was cut off"):
        restore(backup)

    assert not list(tmp_path.glob("new.db*"))


@pytest.mark.slow(ci_only=True)
def test_a_failure_on_the_way_leaves_no_database(backup, restore, tmp_path, monkeypatch):
    def failing(url, *_, **__):
        engine = open_engine(url)
        engine.connect().close()
        engine.dispose()
        raise KeyError

    monkeypatch.setattr(restore_module, "load_backup", failing)
    with pytest.raises(KeyError):
        restore(backup)

    assert not list(tmp_path.glob("new.db*"))


@pytest.mark.slow(ci_only=True)
def test_a_database_that_is_in_use_stays(backup, restore, database_url, engine):
    with pytest.raises(ConflictError, match="the database is not empty"):
        restore(backup, url=database_url)

    with engine.connect() as connection:
        assert connection.exec_driver_sql("select count(*) from upload").scalar_one() == 1


@pytest.mark.slow(ci_only=True)
def test_a_backup_that_the_disk_does_not_hold_is_refused(backup, restore, monkeypatch):
    def nearly_full(folder):
        return disk_usage(folder)._replace(free=100)

    monkeypatch.setattr(shutil, "disk_usage", nearly_full)
    with pytest.raises(UsageError, match="has 100 bytes free and the backup needs"):
        restore(backup)


@pytest.mark.slow(ci_only=True)
def test_a_folder_that_is_missing_is_named(backup, restore, tmp_path):
    with pytest.raises(UsageError, match=r"cannot create .*new.db: No such file"):
        restore(backup, url=f"sqlite:///{tmp_path / 'none' / 'new.db'}")


@pytest.mark.slow(ci_only=True)
def test_a_server_that_does_not_answer_is_a_setting_to_change(backup, restore):
    with pytest.raises(SettingsError, match="the database cannot be filled"):
        restore(backup, url="postgresql+psycopg://nobody@127.0.0.1:9/none")


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("kind", [OperationalError, ProgrammingError])
def test_a_user_who_may_not_fill_the_database_is_told_what_it_needs(
    backup, restore, monkeypatch, kind
):
    def refused(*_, **__):
        raise kind(None, {}, Exception("permission denied for schema\nLINE 2"))

    monkeypatch.setattr(restore_module, "load_backup", refused)
    with pytest.raises(SettingsError, match=r"for schema; name .* user who may create tables"):
        restore(backup)
