"""Holds and reads the values of options: choices, amounts in USD and moments."""

from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum

from perfledger_service.errors import UsageError


class TrustedWord(StrEnum):
    """Whose word on the commits of a project's default branch is believed."""

    GITHUB = "github"
    RUNNERS = "runners"


def usd(text: str, option: str) -> Decimal:
    """Return an amount in USD; raises UsageError."""
    try:
        amount = Decimal(text.replace(",", ""))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite():
        msg = f"{option} is {text[:40]!r}: give USD as a number, such as 12345.67"
        raise UsageError(msg)
    return amount


def parse_moment(text: str, option: str) -> datetime:
    """Return an ISO 8601 time, in UTC if it has no zone; raises UsageError."""
    from perfledger_cost_models.usage.device_spans import parse_time as seconds_of
    from perfledger_service.usecases.inputs.error_translation import translate_errors

    with translate_errors():
        return datetime.fromtimestamp(seconds_of(text, option), UTC)


def today() -> date:
    """Return today's date in UTC."""
    return datetime.now(UTC).date()
