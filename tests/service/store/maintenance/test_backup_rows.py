import math
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, strategies as st
from sqlalchemy import types
from sqlalchemy.dialects import postgresql

from perfledger_service.errors import PerfledgerError, UsageError
from perfledger_service.store.maintenance.backup_rows import from_line, kind_of, to_line
from perfledger_service.values.backups.manifest import ColumnKind

VALUES = {
    ColumnKind.INTEGER: st.integers(-(2**63), 2**63 - 1),
    ColumnKind.FLOAT: st.floats(allow_nan=False),
    ColumnKind.BOOLEAN: st.booleans(),
    ColumnKind.TEXT: st.text(),
    ColumnKind.TIME: st.datetimes(timezones=st.just(UTC)),
    ColumnKind.DATE: st.dates(),
    ColumnKind.BYTES: st.binary(),
}


@given(st.tuples(*(st.none() | values for values in VALUES.values())))
def test_a_row_comes_back_as_it_was(row):
    line = to_line(row)

    assert line.count(b"\n") == 1
    assert from_line(line, tuple(VALUES)) == row


def test_what_is_not_a_number_comes_back_too():
    (value,) = from_line(to_line([math.nan]), [ColumnKind.FLOAT])

    assert isinstance(value, float)
    assert math.isnan(value)


def test_a_time_without_a_zone_is_utc_and_others_are_turned_into_it():
    naive = datetime(2026, 11, 20, 12)  # noqa: DTZ001 - as SQLite returns it
    eastern = datetime(2026, 11, 20, 14, tzinfo=timezone(timedelta(hours=2)))
    line = to_line([naive, eastern])

    first, second = from_line(line, [ColumnKind.TIME, ColumnKind.TIME])
    assert first == second == datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"[1]\n", ColumnKind.TEXT),
        (b"[true]\n", ColumnKind.INTEGER),
        (b"[1]\n", ColumnKind.BOOLEAN),
        (b"[1.5]\n", ColumnKind.INTEGER),
        (b'["1,5"]\n', ColumnKind.FLOAT),
        (b'["no base64!"]\n', ColumnKind.BYTES),
        (b'["yesterday"]\n', ColumnKind.TIME),
        (b'["2026-13-01"]\n', ColumnKind.DATE),
        (b"[[1]]\n", ColumnKind.INTEGER),
        (b"[1,2]\n", ColumnKind.INTEGER),
        (b"[]\n", ColumnKind.INTEGER),
        (b'{"a":1}\n', ColumnKind.INTEGER),
        (b"[1\n", ColumnKind.INTEGER),
        (b'["\xff"]\n', ColumnKind.TEXT),
        (b"[" * 100_000 + b"\n", ColumnKind.INTEGER),
    ],
)
def test_a_line_of_other_values_is_refused(line, kind):
    with pytest.raises(UsageError, match="a row is not one of 1 values"):
        from_line(line, [kind])


def test_the_kinds_are_those_of_both_databases():
    assert kind_of(postgresql.BYTEA()) is ColumnKind.BYTES
    assert kind_of(postgresql.DOUBLE_PRECISION()) is ColumnKind.FLOAT
    assert kind_of(types.BigInteger()) is ColumnKind.INTEGER
    assert kind_of(types.Date()) is ColumnKind.DATE
    assert from_line(to_line([date(2026, 1, 2)]), [ColumnKind.DATE]) == (date(2026, 1, 2),)


def test_a_type_that_no_table_has_is_a_bug():
    with pytest.raises(PerfledgerError, match="no column of type INTERVAL"):
        kind_of(postgresql.INTERVAL())
