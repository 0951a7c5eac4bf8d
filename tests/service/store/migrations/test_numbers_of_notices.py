"""A database with notices, upgraded: they stay, and no number of theirs is given twice."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import MetaData, inspect

from perfledger_service.store.upgrade import upgrade

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
PROJECT = {
    "repository": "octo/m",
    "repository_key": "octo/m",
    "created_at": NOON,
    "trust_runners": False,
    "actions_branch": "",
}
TARGET = {
    "project_id": 1,
    "channel": "issue",
    "address": "",
    "is_early": False,
    "is_weekly": False,
    "hourly": 10,
    "created_at": NOON,
}
NOTICE = {
    "project_id": 1,
    "target_id": 1,
    "subject": "open",
    "status": "sent",
    "edition": 1,
    "queued_at": NOON,
    "upload_id": "",
    "count": 0,
    "cause": "",
    "reference": "",
    "problem": "",
}


@pytest.fixture
def add_notice(empty_engine):
    def add_notice(key):
        tables = MetaData()
        tables.reflect(empty_engine)
        with empty_engine.begin() as connection:
            added = connection.execute(tables.tables["notice"].insert(), NOTICE | {"key": key})
        return added.inserted_primary_key[0]

    return add_notice


@pytest.mark.slow(ci_only=True)
def test_a_number_is_not_given_again(empty_engine, upgrade_to, add_notice):
    upgrade_to("0030")
    tables = MetaData()
    tables.reflect(empty_engine)
    with empty_engine.begin() as connection:
        connection.execute(tables.tables["project"].insert(), PROJECT)
        connection.execute(tables.tables["notice_target"].insert(), TARGET)
    first = add_notice("event-1")
    indexes = inspect(empty_engine).get_indexes("notice")

    upgrade(empty_engine.url.render_as_string(hide_password=False))

    notice = tables.tables["notice"]
    with empty_engine.begin() as connection:
        assert connection.execute(notice.select()).one().key == "event-1"
        connection.execute(notice.delete())
    assert add_notice("event-1") > first
    assert inspect(empty_engine).get_indexes("notice") == indexes
    assert inspect(empty_engine).get_foreign_keys("notice")
