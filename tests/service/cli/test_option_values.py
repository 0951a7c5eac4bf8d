from datetime import UTC, datetime
from decimal import Decimal

import pytest

from perfledger_service.cli.option_values import parse_moment, today, usd
from perfledger_service.errors import UsageError


@pytest.mark.parametrize(("text", "amount"), [("1,234.50", "1234.5"), ("0", "0"), ("-3", "-3")])
def test_an_amount_is_read(text, amount):
    assert usd(text, "--amount-usd") == Decimal(amount)


@pytest.mark.parametrize("text", ["much", "nan", "inf", ""])
def test_what_is_no_amount_names_its_option(text):
    with pytest.raises(UsageError, match=r"--amount-usd is .*: give USD as a number"):
        usd(text, "--amount-usd")


@pytest.mark.parametrize(
    "text", ["2026-11-24T08:00Z", "2026-11-24T09:00+01:00", "2026-11-24T08:00"]
)
def test_a_moment_is_in_utc(text):
    assert parse_moment(text, "--deadline") == datetime(2026, 11, 24, 8, tzinfo=UTC)


def test_what_is_no_moment_names_its_option():
    with pytest.raises(UsageError, match="--deadline"):
        parse_moment("soon", "--deadline")


def test_today_is_a_day_in_utc():
    before = datetime.now(UTC).date()

    assert before <= today() <= datetime.now(UTC).date()
