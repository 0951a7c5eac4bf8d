"""Tests that a backup of either database fills either, and that nothing but an empty one is."""

import shutil
from datetime import UTC, datetime
from hashlib import sha256
from itertools import product

import pytest
from alembic import command
from sqlalchemy import inspect, select, text
from sqlalchemy.exc import OperationalError

from perfledger_service.errors import ConflictError, UsageError
from perfledger_service.store.database import open_engine, read_session, write_session
from perfledger_service.store.maintenance import backup_loader
from perfledger_service.store.maintenance.backup_loader import load_backup
from perfledger_service.store.maintenance.backup_reader import open_backup
from perfledger_service.store.maintenance.backup_rows import to_line
from perfledger_service.store.maintenance.backup_writer import SIGN_IN_TABLES
from perfledger_service.store.projects import project_for
from perfledger_service.store.tables import StoreRow
from perfledger_service.store.upgrade import alembic_config, changing_tables, open_current

pytestmark = pytest.mark.slow

TEXT, NOW = "x", datetime(2026, 11, 20, tzinfo=UTC)
KINDS = ("sqlite", "postgresql")
# Each kind is read once and written once; in CI, each from and to each.
from_and_to = pytest.mark.parametrize(
    ("any_engine", "present_url"),
    [
        pytest.param(*pair, marks=pytest.mark.slow(ci_only=len({*pair}) == 1))
        for pair in product(KINDS, repeat=2)
    ],
    indirect=True,
)
# What a database does itself; what is refused before a row is written is the same in either.
to_each = pytest.mark.parametrize("present_url", KINDS, indirect=True)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow(ci_only=True))])
def empty_url(request, tmp_path):
    """The URL of a database of each kind that has no tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'restored.db'}"
    return request.getfixturevalue("postgres_url")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow(ci_only=True))])
def present_url(request, migrated_file, tmp_path):
    """The URL of a database of each kind with today's tables, which saves all migrations."""
    if request.param == "sqlite":
        yield f"sqlite:///{shutil.copy(migrated_file, tmp_path / 'restored.db')}"
        return
    new_database = request.getfixturevalue("new_database")
    with new_database(template=request.getfixturevalue("migrated_database")) as url:
        yield url


@pytest.fixture(scope="module")
def old_file(tmp_path_factory):
    """A SQLite database of an old version, with a project."""
    path = tmp_path_factory.mktemp("old") / "old.db"
    engine = open_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        command.upgrade(alembic_config(connection), "0010")
        connection.execute(
            text(
                "insert into project (id, repository, repository_key, created_at, trust_runners)"
                " values (7, 'Octo/Models', 'octo/models', '2025-01-02 03:04:05', true)"
            )
        )
    engine.dispose()
    return path


@pytest.fixture
def old_engine(old_file):
    engine = open_engine(f"sqlite:///{old_file}")
    yield engine
    engine.dispose()


def url_of(engine):
    return engine.url.render_as_string(hide_password=False)


@pytest.fixture
def load(watcher):
    def load(url, path):
        with open_backup(path) as backup:
            load_backup(url, backup, watcher=watcher)

    return load


@pytest.fixture
def rows_before_and_after(any_engine, present_url, backup_of, rows_at, load):
    """Restore a backup of one database to the other, and return the rows of both."""

    def restore():
        path, _ = backup_of(any_engine)
        load(present_url, path)
        return rows_at(url_of(any_engine)), rows_at(present_url)

    return restore


@pytest.mark.slow(ci_only=True)
@from_and_to
def test_each_row_comes_back_on_either_database(
    any_engine, present_url, fill, rows_before_and_after, watcher
):
    fill(any_engine)
    before, after = rows_before_and_after()

    assert after == before | {name: [] for name in SIGN_IN_TABLES & after.keys()}
    assert set(after) == set(StoreRow.metadata.tables)
    assert watcher.rows == 2 * len([rows for rows in after.values() if rows])
    with open_current(present_url):
        pass


@pytest.mark.slow(ci_only=True)
def test_sessions_of_a_backup_that_has_them_are_not_restored(present_url, forged, load, rows_at):
    line = to_line([TEXT, 1, NOW, NOW, NOW])

    def change(document):
        (table,) = (one for one in document["tables"] if one["name"] == "person_session")
        table |= {"rows": 1, "bytes": len(line), "sha256": sha256(line).hexdigest()}

    load(present_url, forged({"tables/person_session.ndjson": line}, manifest=change))

    assert rows_at(present_url)["person_session"] == []


@pytest.mark.slow(ci_only=True)
@from_and_to
def test_the_results_of_a_check_come_back(any_engine, judged, make_bundle, rows_before_and_after):
    judged(any_engine, make_bundle(workloads=("gpt:step", "vit:step")))
    before, after = rows_before_and_after()

    assert after == before
    assert len(after["verdict"]) == len(after["observation"]) // 2 == 4


@pytest.mark.slow(ci_only=True)
@to_each
def test_rows_after_a_restoration_have_new_numbers(engine, present_url, backup_of, load, now):
    with write_session(engine) as session:
        for name in ("octo/models", "octo/other"):
            project_for(session, name, now=now)
        session.commit()
    path, _ = backup_of(engine)
    load(present_url, path)
    with open_current(present_url) as restored, write_session(restored) as session:
        assert project_for(session, "octo/third", now=now).id == 3


@pytest.mark.slow(ci_only=True)
def test_tables_that_are_there_may_be_empty(database_url, backup_of, tmp_path, load, fill):
    shutil.copy(tmp_path / "perfledger.db", tmp_path / "other.db")
    other = open_engine(f"sqlite:///{tmp_path / 'other.db'}")
    fill(other)
    path, _ = backup_of(other)
    load(database_url, path)
    with pytest.raises(ConflictError, match=r"not empty, table \w+ has rows: name a new database"):
        load(database_url, path)
    other.dispose()


@pytest.mark.slow(ci_only=True)
def test_a_backup_of_an_older_version_is_upgraded(empty_url, old_engine, backup_of, load, rows_at):
    with old_engine.connect() as connection:
        names = set(inspect(connection).get_table_names()) - {"alembic_version"}
    path, manifest = backup_of(old_engine, names=names)
    load(empty_url, path)

    assert manifest.schema == "0010"
    assert len(rows_at(empty_url)["project"]) == 1
    with open_current(empty_url) as restored, read_session(restored) as session:
        project = project_for(session, "octo/models", now=NOW)
    assert (project.id, project.repository) == (7, "Octo/Models")


def test_an_older_backup_needs_a_database_without_tables(database_url, forged, load):
    path = forged(manifest=lambda document: document.update(schema="0019"))
    with pytest.raises(ConflictError, match="tables of another version than the backup"):
        load(database_url, path)


def test_a_backup_of_a_newer_version_is_refused(empty_url, forged, load):
    def renew(document):
        document.update(schema="0999", perfledger_version="9.9.9")

    with pytest.raises(UsageError, match=r"made by perfledger 9.9.9, .* install that version"):
        load(empty_url, forged(manifest=renew))
    assert tables_at(empty_url) == set()


def other_columns(document):
    document["tables"][0]["columns"][0]["name"] = "id; drop table project"


def other_kind(document):
    document["tables"][0]["columns"][0]["kind"] = "bytes"


@pytest.mark.parametrize("change", [other_columns, other_kind])
def test_columns_that_the_schema_lacks_are_refused(present_url, forged, load, change):
    with pytest.raises(UsageError, match="has columns that are not those of schema"):
        load(present_url, forged(manifest=change))
    assert tables_with_rows(present_url) == set()


def test_tables_that_the_schema_lacks_are_refused(empty_url, forged, load):
    members = {"tables/alembic_version.ndjson": b"", "tables/actions_token.ndjson": None}
    path = forged(members, manifest=lambda document: rename(document, "actions_token"))
    with pytest.raises(UsageError, match=r"the backup's tables are not those of schema"):
        load(empty_url, path)
    assert tables_at(empty_url) == set()


def rename(document, name):
    (table,) = (one for one in document["tables"] if one["name"] == name)
    table["name"] = "alembic_version"


def without(forged, name):
    """Return a backup without a table."""

    def change(document):
        document["tables"] = [one for one in document["tables"] if one["name"] != name]

    return forged({f"tables/{name}.ndjson": None}, manifest=change)


def test_a_table_that_the_backup_lacks_is_missed(present_url, forged, load):
    with pytest.raises(UsageError, match=r"the backup's tables are not those of schema"):
        load(present_url, without(forged, "token"))
    assert tables_with_rows(present_url) == set()


@pytest.mark.slow(ci_only=True)
def test_a_table_that_an_older_backup_lacks_is_missed(empty_url, old_engine, backup_of, load):
    path, _ = backup_of(old_engine, names={"project", "token"})
    with pytest.raises(UsageError, match="the backup's tables are not those of schema 0010"):
        load(empty_url, path)
    assert tables_at(empty_url) == set()


@pytest.mark.slow(ci_only=True)
def test_rows_of_a_table_that_the_backup_lacks_are_found(engine, database_url, fill, forged, load):
    fill(engine)
    with changing_tables(database_url) as connection:
        for table in sorted(set(StoreRow.metadata.tables) - {"token"}):
            connection.exec_driver_sql(f"delete from {table}")
    with pytest.raises(ConflictError, match="not empty, table token has rows"):
        load(database_url, without(forged, "token"))


@pytest.mark.parametrize(("most", "sizes"), [(1, [1, 1, 1]), (10**6, [3])])
def test_a_batch_ends_at_its_bytes(  # noqa: PLR0917
    engine, present_url, backup_of, watcher, load, monkeypatch, now, most, sizes
):
    with write_session(engine) as session:
        for name in ("octo/a", "octo/b", "octo/c"):
            project_for(session, name, now=now)
        session.commit()
    path, _ = backup_of(engine)
    monkeypatch.setattr(backup_loader, "MAX_BATCH_BYTES", most)
    batches = []
    monkeypatch.setattr(watcher, "advanced", batches.append)
    load(present_url, path)

    assert batches == sizes


def test_a_lost_connection_is_no_fault_of_the_rows(present_url, backup, load, monkeypatch):
    def lost(table):
        raise OperationalError(str(table), {}, Exception("the server closed"))

    monkeypatch.setattr(backup_loader, "insert", lost)
    with pytest.raises(OperationalError, match="the server closed"):
        load(present_url, backup)


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("empty_url", KINDS, indirect=True)
def test_after_a_failure_in_the_last_table_nothing_is_there(empty_url, forged, load, watcher):
    def change(document):
        document["tables"][-1]["sha256"] = "0" * 64

    with pytest.raises(UsageError, match="the backup was changed"):
        load(empty_url, forged(manifest=change))
    assert watcher.rows > 0
    assert tables_at(empty_url) == set()


@to_each
def test_a_row_that_refers_to_none_is_refused(present_url, forged, load):
    def empty_projects(document):
        (table,) = (one for one in document["tables"] if one["name"] == "project")
        table |= {"rows": 0, "bytes": 0, "sha256": sha256().hexdigest()}

    path = forged({"tables/project.ndjson": b""}, manifest=empty_projects)
    with pytest.raises(UsageError, match=r"refers to one|do not fit the database"):
        load(present_url, path)
    assert tables_with_rows(present_url) == set()


@to_each
def test_a_number_that_no_column_holds_is_refused(present_url, forged, load):
    line = to_line([1, TEXT, TEXT, NOW, True, 2**63 - 1, 2**70, TEXT])

    def change(document):
        (table,) = (one for one in document["tables"] if one["name"] == "project")
        digest = sha256(line).hexdigest()
        table |= {"rows": 1, "bytes": len(line), "sha256": digest}

    path = forged({"tables/project.ndjson": line}, manifest=change)
    with pytest.raises(UsageError, match=r"rows of table project do not fit|a row is not one of"):
        load(present_url, path)
    assert tables_with_rows(present_url) == set()


def tables_at(url):
    engine = open_engine(url)
    with engine.connect() as connection:
        names = set(inspect(connection).get_table_names())
    engine.dispose()
    return names


def tables_with_rows(url):
    with open_current(url) as engine, engine.connect() as connection:
        return {
            name
            for name, table in StoreRow.metadata.tables.items()
            if connection.execute(select(1).select_from(table).limit(1)).first()
        }
