"""A database with a marked upload, upgraded: the mark stays, and another one fits beside it."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import Boolean, DateTime, Integer, MetaData, inspect

from perfledger_service.store.upgrade import upgrade

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def plain_value(column):
    """Return a value for a column that must have one."""
    match column.type:
        case Boolean():
            return False
        case DateTime():
            return NOON
        case Integer():
            return 1
    return b"" if column.type.python_type is bytes else "a"


@pytest.mark.slow(ci_only=True)
def test_an_upload_may_be_marked_with_several_quarantines(empty_engine, upgrade_to):
    upgrade_to("0035")
    tables = MetaData()
    tables.reflect(empty_engine)
    names = ("project", "environment", "bundle", "upload", "project_device", "quarantine")
    with empty_engine.begin() as connection:
        for name in (*names, "quarantined_upload"):
            table = tables.tables[name]
            needed = [each for each in table.columns if not each.nullable]
            values = {each.name: plain_value(each) for each in needed}
            connection.execute(table.insert(), values)

    upgrade(empty_engine.url.render_as_string(hide_password=False))

    marks = tables.tables["quarantined_upload"]
    key = inspect(empty_engine).get_pk_constraint("quarantined_upload")
    assert key["constrained_columns"] == ["upload_id", "quarantine_id"]
    assert len(inspect(empty_engine).get_foreign_keys("quarantined_upload")) == 2
    with empty_engine.begin() as connection:
        assert connection.execute(marks.select()).one() == ("a", 1)
        second = {"id": 2, "device_id": 1, "reason": "", "set_by": "", "since": NOON}
        values = second | {"released_by": "", "release_reason": ""}
        connection.execute(tables.tables["quarantine"].insert(), values)
        connection.execute(marks.insert(), {"upload_id": "a", "quarantine_id": 2})
