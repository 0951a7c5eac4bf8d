"""Holds and reads the values of options: choices, amounts in USD and moments."""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from perfledger_service.cli.option_groups import argument
from perfledger_service.errors import UsageError
from perfledger_service.values.storage.retention import STORE_CLASSES, RetentionClass

REPOSITORY = "OWNER/NAME"  # the metavar of values that `repository_name` reads


class TrustedWord(StrEnum):
    """Party that is trusted about the commits of a project's default branch."""

    GITHUB = "github"
    RUNNERS = "runners"


def repository_name(text: str) -> str:
    """Return a repository's name, "" for none; raises UsageError for another form."""
    from perfledger_runners.checkouts.repository_name import is_repository_name

    if text and not is_repository_name(text):
        msg = f"{text[:200]!r} is not a repository: give {REPOSITORY}, such as octo/models"
        raise UsageError(msg)
    return text


# The project that a command is about.
Repository = Annotated[
    str,
    argument("the repository, as GitHub writes it", metavar=REPOSITORY, parser=repository_name),
]


def usd(text: str, option: str) -> Decimal:
    """Return an amount in USD; raises UsageError."""
    from perfledger_profiles.parsing.text_table import is_number

    digits = text.replace(",", "")
    if not is_number(digits):
        msg = f"{option} is {text[:40]!r}: give USD as a number, such as 12345.67"
        raise UsageError(msg)
    return Decimal(digits.strip())


def kept_days(texts: Iterable[str]) -> dict[RetentionClass, int]:
    """Return for how many days classes of the store are kept; raises UsageError."""
    from perfledger_service.settings.retention import MAX_DAYS, MIN_DAYS

    days: dict[RetentionClass, int] = {}
    for text in texts:
        kind, _, count = text.partition("=")
        is_count = count.isascii() and count.isdigit() and len(count) < len(str(MAX_DAYS)) + 1
        if kind not in STORE_CLASSES or not is_count or not (MIN_DAYS <= int(count) <= MAX_DAYS):
            msg = (
                f"--keep is {text[:40]!r}: give CLASS=DAYS with {MIN_DAYS} to {MAX_DAYS:,} "
                f"days, such as bundles=90; classes are {', '.join(STORE_CLASSES)}"
            )
            raise UsageError(msg)
        days[RetentionClass(kind)] = int(count)
    return days


def refuse_unused(options: Mapping[str, bool], reason: str) -> None:
    """Raise UsageError if an option is given that has no effect, for this reason.

    `options` holds whether each is given, by its flag.
    """
    unused = [flag for flag, is_given in options.items() if is_given]
    if unused:
        msg = f"{', '.join(unused)}: {reason}"
        raise UsageError(msg)


def parse_moment(text: str, option: str) -> datetime:
    """Return an ISO 8601 time, in UTC if it has no zone; raises UsageError."""
    from perfledger_cost_models.usage.device_spans import parse_time as seconds_of
    from perfledger_service.usecases.inputs.error_translation import translate_errors

    with translate_errors():
        return datetime.fromtimestamp(seconds_of(text, option), UTC)


def today() -> date:
    """Return today's date in UTC."""
    return datetime.now(UTC).date()
