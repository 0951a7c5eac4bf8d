"""How far GitHub's clock is ahead of ours, by its answers and by no proxy's."""

from datetime import UTC, datetime, timedelta

import pytest

from perfledger_service.github.clock_offsets import offset_of

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def headers(date="Fri, 20 Nov 2026 12:00:00 GMT"):
    return {"X-GitHub-Request-Id": "1", "Date": date}


@pytest.mark.parametrize("hours", [-3, 3])
def test_a_clock_of_ours_that_is_wrong_is_noticed(hours):
    ours = NOON + timedelta(hours=hours)

    assert offset_of(headers(), now=ours) == timedelta(hours=-hours)


@pytest.mark.parametrize("seconds", [-60, -1, 0, 60])
def test_a_minute_is_no_difference(seconds):
    assert offset_of(headers(), now=NOON + timedelta(seconds=seconds)) == timedelta(0)


def test_a_date_without_a_zone_is_utc():
    date = "Fri, 20 Nov 2026 12:00:00 -0000"

    assert offset_of(headers(date), now=NOON - 2 * MINUTE) == 2 * MINUTE


@pytest.mark.parametrize("answer", [{}, {"Date": headers()["Date"]}, headers(""), headers("soon")])
def test_an_answer_without_a_date_of_githubs_says_nothing(answer):
    assert offset_of(answer, now=NOON - 2 * MINUTE) is None
