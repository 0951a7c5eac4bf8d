"""Many rows are copied to PostgreSQL: what is read back is what an insert would have stored."""

import math
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from sqlalchemy import LargeBinary, MetaData, Text, text
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel, col, select

from perfledger_service.store.database import (
    MIN_COPIED,
    UtcTime,
    insert_rows,
    is_outage,
    read_session,
    write_session,
)
from perfledger_service.values.upload_views import UploadStatus

NOON = datetime(2026, 11, 20, 12, tzinfo=timezone(timedelta(hours=1)))


class _Row(SQLModel, registry=registry(metadata=MetaData())):
    """The base of a table of this test alone."""


class CopiedRow(_Row, table=True):
    """A row with a column of each type."""

    id: int | None = Field(default=None, primary_key=True)
    number: int = Field(unique=True)
    word: str
    long_text: str | None = Field(default=None, sa_type=Text)
    value: float
    is_true: bool
    content: bytes = Field(sa_type=LargeBinary)
    moment: datetime = Field(sa_type=UtcTime)
    day: date


def values(number):
    texts = ("plain", "tab\tand\nline \\N \\x00", "\N{SNOWMAN}", "")
    return {
        "number": number,
        "word": UploadStatus.POSTED if number % 2 else texts[number % 4],
        "long_text": None if number % 3 else texts[number % 4] * 1000,
        "value": (number / 7, math.inf, -0.0, 1e-300)[number % 4],
        "is_true": bool(number % 2),
        "content": bytes(range(number % 256)),
        "moment": NOON + timedelta(microseconds=number),
        "day": date(2026, 11, 20),
    }


@pytest.fixture
def table(any_engine):
    CopiedRow.metadata.create_all(any_engine)
    yield any_engine
    CopiedRow.metadata.drop_all(any_engine)


@pytest.mark.parametrize("count", [0, 1, MIN_COPIED - 1, MIN_COPIED, 300])
def test_what_is_read_back_is_what_was_stored(table, count):
    with write_session(table) as session:
        insert_rows(session, CopiedRow, [values(one) for one in range(count)])
        session.commit()

    with read_session(table) as session:
        rows = session.exec(select(CopiedRow).order_by(col(CopiedRow.number))).all()
    read = [row.model_dump(exclude={"id"}) for row in rows]
    assert read == [values(one) for one in range(count)]
    assert len({row.id for row in rows}) == count
    assert all(row.moment.tzinfo is UTC for row in rows)


def test_a_row_that_is_there_is_refused_with_all_others(table):
    rows = [values(one) for one in (*range(MIN_COPIED), 0)]
    with write_session(table) as session, pytest.raises(IntegrityError):
        insert_rows(session, CopiedRow, rows)

    with write_session(table) as session:
        assert session.exec(select(CopiedRow)).all() == []


@pytest.mark.slow(ci_only=True)
def test_a_server_that_ends_the_connection_meanwhile_is_an_outage(
    open_shared, migrated_postgres_url
):
    with open_shared(migrated_postgres_url) as engine:
        CopiedRow.metadata.create_all(engine)
        with write_session(engine) as session:
            number = session.connection().execute(text("select pg_backend_pid()")).scalar_one()
            with engine.connect() as other:
                other.execute(text(f"select pg_terminate_backend({number})"))
            with pytest.raises(DBAPIError) as caught:
                insert_rows(session, CopiedRow, [values(one) for one in range(MIN_COPIED)])

        assert is_outage(caught.value)
        with read_session(engine) as session:
            assert session.exec(select(CopiedRow)).all() == []
