"""The size of the database, and its free pages given back."""

import pytest
from sqlalchemy import text

from perfledger_service.errors import ConflictError, UsageError
from perfledger_service.store.database import write_session
from perfledger_service.store.retention.database_size import check_vacuum, database_size, vacuum
from perfledger_service.store.tables import BundleRow


@pytest.fixture
def freed(engine):
    """A database of which some hundred pages are free."""
    with write_session(engine) as session:
        session.add(BundleRow(sha256="a", unpacked_bytes=1, content=b"x" * 1_000_000))
        session.commit()
        session.connection().execute(text("delete from bundle"))
        session.commit()
    return engine


def test_free_pages_are_given_back(freed):
    before = database_size(freed)

    vacuum(freed)

    after = database_size(freed)
    assert before.free_bytes is not None
    assert before.free_bytes > 900_000
    assert after.free_bytes == 0
    assert after.bytes <= before.bytes - before.free_bytes  # half-empty pages are filled, too


def test_a_file_that_somebody_writes_is_left_as_it_is(freed):
    with write_session(freed) as other:
        other.connection().execute(text("select 1"))
        with freed.connect() as connection:
            connection.exec_driver_sql("rollback")
            connection.exec_driver_sql("pragma busy_timeout = 1")
        with pytest.raises(ConflictError, match="stop the service"):
            vacuum(freed)


@pytest.mark.slow(ci_only=True)
def test_postgresql_reuses_the_space_itself(open_shared, migrated_postgres_url):
    with open_shared(migrated_postgres_url) as engine:
        size = database_size(engine)
        assert (size.bytes > 0, size.free_bytes) == (True, None)
        with pytest.raises(UsageError, match="VACUUM FULL"):
            check_vacuum(engine)
