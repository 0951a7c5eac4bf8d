"""The words of notices about events."""

import pytest

from perfledger_baselines.history.commits.event_state import EventState
from perfledger_service.rendering.layout.writers import to_markdown
from perfledger_service.rendering.notices.event import (
    EventNotice,
    event_notice_document,
    event_title,
)
from perfledger_service.values.branch_views import EventView
from perfledger_service.values.notices.notice import NoticeSubject
from tests.service.usecases.notices.conftest import an_event, changed, sha

HEADLINE = "gpt:step is 20 % slower, waiting for input; about 9,000 USD a year"


@pytest.fixture
def notice_of(now):
    def notice_of(subject, event=an_event(), *, headline=HEADLINE, **values):  # noqa: B008
        view = EventView(event=event, opened_at=now, changed_at=now)
        return EventNotice(view=view, subject=subject, headline=headline, **values)

    return notice_of


@pytest.mark.parametrize(
    ("subject", "beginning"),
    [
        (NoticeSubject.OPEN, HEADLINE),
        (NoticeSubject.FIXED, "Fixed: 0000000"),
        (NoticeSubject.EXPECTED, "Expected from now on. gpt:step is"),
        (NoticeSubject.ENVIRONMENT, "The machines changed, not the code. gpt:step is"),
        (NoticeSubject.NOT_FOUND, "No longer found with more data. gpt:step is"),
    ],
)
def test_the_title_says_what_is_and_what_it_was(notice_of, subject, beginning):
    event = an_event(state=EventState.OPEN, fixed_sha=sha(9))

    assert event_title(notice_of(subject, event)).startswith(beginning)


def test_what_is_back_is_said_so(notice_of):
    title = event_title(notice_of(NoticeSubject.OPEN, is_again=True))

    assert title == f"It is back. {HEADLINE}"


def test_without_a_check_its_largest_change_is_the_headline(notice_of):
    event = an_event(5, changed(change=0.1), changed("bert:step", change=0.5))
    notice = notice_of(NoticeSubject.OPEN, event, headline="")

    assert event_title(notice).startswith("bert:step on the default branch: ")
    assert "+50" in event_title(notice)
    assert "Not confirmed by paired runs yet." in to_markdown(event_notice_document(notice))


def test_a_kernel_family_is_the_headline_only_if_nothing_else_changed(notice_of):
    gelu = changed(change=0.5, metric="kernel:gelu")
    alone = notice_of(NoticeSubject.OPEN, an_event(5, gelu), headline="")
    beside = notice_of(NoticeSubject.OPEN, an_event(5, changed(change=0.1), gelu), headline="")

    assert "kernel family gelu +50" in event_title(alone)
    assert "step time +10" in event_title(beside)
    assert "kernel family gelu" in to_markdown(event_notice_document(beside))


def test_a_change_of_unknown_size_is_said_so(notice_of):
    event = an_event(5, changed(change=float("nan")), id=3)

    title = event_title(notice_of(NoticeSubject.OPEN, event, headline=""))
    assert title == "Event 3 is a change of unknown size"


def test_who_expects_it_and_why_is_said(notice_of):
    event = an_event(state=EventState.EXPECTED, set_by="alice", reason="safer math")
    text = to_markdown(event_notice_document(notice_of(NoticeSubject.EXPECTED, event)))

    assert "alice" in text
    assert "safer math" in text
