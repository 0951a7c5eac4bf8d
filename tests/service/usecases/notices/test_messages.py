"""What is sent of a notice: short enough for GitHub, and with what is still known."""

from dataclasses import replace

import pytest

from perfledger_baselines.history.commits.event_state import EventState
from perfledger_service.usecases.notices.messages import message_of
from perfledger_service.values.notices.notice import Notice, NoticeStatus, NoticeSubject
from tests.service.usecases.notices.conftest import an_event, changed, sha

SITE = "https://ledger.example"


@pytest.fixture
def message(any_engine, project, now):
    def message(subject, key, **values):
        notice = Notice(
            id=1,
            project_id=project.id,
            target_id=1,
            key=key,
            subject=subject,
            status=NoticeStatus.QUEUED,
            **{"edition": 1, "queued_at": now} | values,
        )
        return message_of(any_engine, project, notice, public_url=SITE, now=now)

    return message


def test_a_report_with_very_many_long_names_fits_an_issue(save, message):
    states = (EventState.ACKNOWLEDGED, EventState.EXPECTED, EventState.FIXED)
    for number in range(60):
        name = f"w{number}" + "`|" * 500
        event = an_event(3 + number % 20, changed(name), reason="r|" * 150)
        save(replace(event, state=states[number % 3], fixed_sha=sha(9)))

    report = message(NoticeSubject.TRIAGE, "triage-2026-11-23")
    assert len(report.markdown.encode()) < 65_000
    assert report.summary.endswith(f"Triage: {SITE}/octo/models")


def test_a_summary_says_how_many_more_there_are(message):
    summary = message(NoticeSubject.SUMMARY, "summary-7", count=2)

    assert summary.title == "[octo/models] And 2 more regressions"


def test_a_later_edition_is_a_reply_to_the_first(save, message):
    event = save(an_event())
    first = message(NoticeSubject.OPEN, "event-1", event_id=event.id)
    second = message(NoticeSubject.FIXED, "event-1", event_id=event.id, edition=2)

    assert (first.key, first.is_reply, first.is_final) == (first.thread, False, False)
    assert (second.thread, second.is_reply, second.is_final) == (first.thread, True, True)
    assert second.key != first.key


def test_a_check_that_was_removed_is_not_linked(save, message):
    event = save(an_event())
    text = message(NoticeSubject.OPEN, "event-1", event_id=event.id, upload_id="9" * 32).text

    assert "/runs/" not in text
    assert "Not confirmed by paired runs yet." in text
