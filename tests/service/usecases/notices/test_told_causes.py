"""An event is known again by a series and a place of what was told."""

import pytest

from perfledger_service.usecases.notices.told_causes import is_told_cause, told_cause
from tests.service.usecases.notices.conftest import an_event, changed, sha

PLACES = {sha(commit): commit - 1 for commit in range(1, 31)}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (an_event(5), True),
        (an_event(7), True),
        (an_event(8), False),
        (an_event(6, changed("bert:step"), changed()), True),
        (an_event(5, changed("bert:step")), False),
        (an_event(99), False),
    ],
)
def test_a_cause_is_near_and_shares_a_series(event, expected):
    assert is_told_cause(told_cause(an_event(5)), event, PLACES) is expected
