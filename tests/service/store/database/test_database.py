import threading
from datetime import UTC, datetime, timedelta, timezone

import psycopg
import pytest
from sqlalchemy.exc import (
    DBAPIError,
    IntegrityError,
    OperationalError,
    TimeoutError as PoolTimeoutError,
)
from sqlmodel import select

from perfledger_service.errors import SettingsError
from perfledger_service.store.database import (
    is_outage,
    open_engine,
    read_session,
    write_if_free,
    write_session,
)
from perfledger_service.store.tables import ProjectRow, TokenRow

BERLIN = timezone(timedelta(hours=1))


def a_project(created_at=datetime(2026, 11, 20, tzinfo=UTC), key="o/r"):
    return ProjectRow(repository=key, repository_key=key, created_at=created_at)


def test_what_sqlite_acknowledges_survives_a_power_cut(database_url):
    engine = open_engine(database_url)  # the fixture's own engine waits for no disk
    with engine.connect() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"pragma {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    engine.dispose()

    assert pragmas == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 10_000,
    }


def test_times_come_back_in_utc(engine):
    with write_session(engine) as session:
        session.add(a_project(datetime(2026, 11, 20, 1, 30, tzinfo=BERLIN)))
        session.commit()
    with read_session(engine) as session:
        stored = session.exec(select(ProjectRow.created_at)).one()

    assert stored == datetime(2026, 11, 20, 0, 30, tzinfo=UTC)
    assert stored.tzinfo is UTC


def test_a_time_without_a_zone_is_refused(engine):
    with write_session(engine) as session:
        session.add(a_project(datetime(2026, 11, 20)))  # noqa: DTZ001 - that is the point
        with pytest.raises(Exception, match="has no time zone"):
            session.commit()


def test_a_row_without_its_parent_is_refused(engine):
    with write_session(engine) as session:
        session.add(TokenRow(project_id=9, prefix="p", sha256="", created_at=datetime.now(UTC)))
        with pytest.raises(IntegrityError):
            session.commit()


def test_what_is_not_committed_is_not_kept(engine):
    with write_session(engine) as session:
        session.add(a_project())
        session.flush()
    with read_session(engine) as session:
        assert session.exec(select(ProjectRow)).all() == []


def test_writers_come_one_after_the_other(engine):
    """Both read before they write: without the lock at the beginning one of them would fail."""
    has_read = threading.Event()
    records: list[str] = []
    problems: list[Exception] = []

    def second():
        try:
            with write_session(engine) as session:
                has_read.set()
                records.extend(row.repository for row in session.exec(select(ProjectRow)))
                session.add(a_project(key="second/r"))
                session.commit()
        except Exception as error:
            problems.append(error)

    with write_session(engine) as session:
        session.exec(select(ProjectRow)).all()
        other = threading.Thread(target=second)
        other.start()
        has_read.wait(timeout=600)
        session.add(a_project(key="first/r"))
        session.commit()
    other.join()

    assert problems == []
    assert records == ["first/r"]


def test_a_reader_does_not_wait_for_a_writer(engine):
    with write_session(engine) as session:
        session.add(a_project())
        session.flush()
        with read_session(engine) as other:
            assert other.exec(select(ProjectRow)).all() == []


def rename(session, name="o/new"):
    for project in session.exec(select(ProjectRow)):
        project.repository = name
        session.add(project)


def names(engine):
    with read_session(engine) as session:
        return list(session.exec(select(ProjectRow.repository)))


@pytest.fixture
def stored(any_engine):
    with write_session(any_engine) as session:
        session.add(a_project())
        session.commit()
    return any_engine


def test_a_write_that_may_be_left_out_is_stored_where_nobody_else_writes(stored):
    assert write_if_free(stored, rename)
    assert names(stored) == ["o/new"]


def test_a_write_that_may_be_left_out_does_not_wait_for_another_writer(stored):
    with write_session(stored) as other:
        rename(other, "o/other")
        other.flush()
        assert not write_if_free(stored, rename)
        other.commit()

    assert names(stored) == ["o/other"]
    assert write_if_free(stored, rename)


def test_a_write_that_the_database_refuses_is_left_out(stored):
    def add_again(session):
        session.add(a_project())
        session.flush()

    assert not write_if_free(stored, add_again)
    assert names(stored) == ["o/r"]


def test_other_writers_wait_as_long_as_before(engine):
    with write_session(engine) as other:
        other.connection()
        assert not write_if_free(engine, rename)
    assert write_if_free(engine, rename)
    with engine.connect() as first, engine.connect() as second:
        for connection in (first, second):
            pragma = connection.exec_driver_sql("pragma busy_timeout")
            assert pragma.scalar_one() == 10_000


@pytest.mark.parametrize(
    "url", ["mysql://h/db", "nonsense", "", "sqlite://", "sqlite+aiosqlite:///x"]
)
def test_other_databases_are_refused_with_what_to_write(url):
    with pytest.raises(SettingsError, match="must be sqlite:///FILE or postgresql"):
        open_engine(url)


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg"])
def test_postgresql_is_spoken_to_by_psycopg(scheme):
    engine = open_engine(f"{scheme}://somebody@127.0.0.1/somewhere")

    assert engine.driver == "psycopg"


def failure(engine, statement):
    """Return the error of a statement."""
    with pytest.raises(DBAPIError) as caught, engine.begin() as connection:
        connection.exec_driver_sql(statement)
    return caught.value


def test_a_full_disk_is_an_outage_and_a_missing_table_is_none(tmp_path):
    engine = open_engine(f"sqlite:///{tmp_path / 'small.db'}")
    with engine.begin() as connection:
        connection.exec_driver_sql("create table note (text)")
    with engine.connect() as connection:  # the same one is used again
        connection.exec_driver_sql("pragma max_page_count = 3")

    assert is_outage(failure(engine, "insert into note values (zeroblob(100000))"))
    assert not is_outage(failure(engine, "insert into nowhere values (1)"))
    engine.dispose()


def test_a_server_that_does_not_answer_is_an_outage():
    engine = open_engine("postgresql+psycopg://nobody@127.0.0.1:1/nothing")

    with pytest.raises(OperationalError) as caught, engine.connect():
        pass

    assert is_outage(caught.value)
    engine.dispose()


@pytest.mark.parametrize(
    ("state", "expected"),
    [("57P01", True), ("53100", True), ("40P01", True), ("42P01", False), ("23505", False)],
)
def test_classes_of_postgresql_say_whether_it_is_an_outage(state, expected):
    cause = psycopg.Error()
    cause.sqlstate = state

    assert is_outage(OperationalError("select 1", {}, cause)) is expected


def test_other_errors_are_no_outage():
    assert not is_outage(ValueError())
    assert is_outage(PoolTimeoutError())
