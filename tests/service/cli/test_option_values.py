from datetime import UTC, datetime
from decimal import Decimal

import pytest

from perfledger_service.cli.option_values import (
    parse_moment,
    refuse_unused,
    repository_name,
    today,
    usd,
)
from perfledger_service.errors import UsageError


@pytest.mark.parametrize(("text", "amount"), [("1,234.50", "1234.5"), ("0", "0"), ("-3", "-3")])
def test_an_amount_is_read(text, amount):
    assert usd(text, "--amount-usd") == Decimal(amount)


@pytest.mark.parametrize("text", ["much", "nan", "inf", ""])
def test_what_is_no_amount_names_its_option(text):
    with pytest.raises(UsageError, match=r"--amount-usd is .*: give USD as a number"):
        usd(text, "--amount-usd")


@pytest.mark.parametrize("text", ["octo/models", "Octo/.github", ""])
def test_a_repository_is_owner_and_name(text):
    assert repository_name(text) == text


@pytest.mark.parametrize("text", ["models", "github.com/octo/models", "https://github.com/octo/x"])
def test_another_form_of_a_repository_is_an_error_with_an_example(text):
    with pytest.raises(
        UsageError, match="is not a repository: give OWNER/NAME, such as octo/models"
    ):
        repository_name(text)


@pytest.mark.parametrize(
    "words",
    [
        ("server", "job", "list", "models"),
        ("server", "audit", "--repository", "models"),
        ("server", "export", "folder", "--repository", "models"),
        ("check", "--repository", "https://github.com/octo/models"),
        ("history", "import", "data.js", "--repository", "models"),
    ],
)
def test_every_command_takes_the_same_form_of_a_repository(run, words):
    with pytest.raises(UsageError, match="is not a repository: give OWNER/NAME"):
        run(*words)


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


def test_given_options_without_effect_are_named_and_others_are_not():
    with pytest.raises(UsageError) as refused:
        refuse_unused({"--start": True, "--end": False, "--signal": True}, "leave these out")
    refuse_unused({"--end": False}, "leave this out")

    assert str(refused.value) == "--start, --signal: leave these out"
