from sqlalchemy import text

from perfledger_service.usecases.server.metrics import current_counts


def test_a_database_that_answers_is_counted(engine, now):
    counts = current_counts(engine, now=now)

    assert counts is not None
    assert counts.waiting == 0


def test_a_database_that_lacks_its_tables_has_no_counts(engine, now):
    with engine.begin() as connection:
        connection.execute(text("drop table runner_job"))

    assert current_counts(engine, now=now) is None
