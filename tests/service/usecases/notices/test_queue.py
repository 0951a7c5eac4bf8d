"""Which events are told, how often, and what is said when they are over."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.notices import notice_by_id, notices_of, update_notice
from perfledger_service.usecases.notices.queue import MIN_BETWEEN, queue_notices
from perfledger_service.usecases.notices.sending import fail_notice
from perfledger_service.values.notices.notice import NoticeStatus, NoticeSubject
from tests.service.usecases.notices.conftest import an_event, changed, sha

HOUR = timedelta(hours=1)
MONDAY = datetime(2026, 11, 23, tzinfo=UTC)


@pytest.fixture
def queue(any_engine, now):
    return lambda *, now=now: queue_notices(any_engine, now=now)


@pytest.fixture
def set_sent(any_engine, now):
    """Mark queued notices as sent."""

    def set_sent(works, *, now=now):
        with write_session(any_engine) as session:
            for work in works:
                notice = notice_by_id(session, work.notice_id)
                assert notice is not None
                update_notice(session, notice, status=NoticeStatus.SENT, sent_at=now)
            session.commit()

    return set_sent


@pytest.fixture
def stored(any_engine, project):
    """Return the subjects and states of all notices, oldest first."""

    def stored():
        with read_session(any_engine) as session:
            notices = reversed(notices_of(session, project.id))
        return [(one.event_id, one.subject, one.status, one.edition) for one in notices]

    return stored


def test_a_regression_has_one_notice_however_often_it_is_queued(
    send_to, save, queue, stored, set_sent
):
    send_to()
    event = save(an_event())
    assert queue() == queue()
    set_sent(queue())

    assert queue() == ()
    assert stored() == [(event.id, NoticeSubject.OPEN, NoticeStatus.SENT, 1)]


@pytest.mark.parametrize(
    "event",
    [
        an_event(harm=Harm.BETTER),
        an_event(is_detected=False),
        an_event(state=EventState.EXPECTED),
        an_event(state=EventState.ACKNOWLEDGED),
        an_event(state=EventState.ENVIRONMENT),
        an_event(state=EventState.FIXED),
        replace(an_event(), occurrences=(), pull_request=7, measured_series=(changed(),)),
    ],
)
def test_nothing_is_said_of_what_is_no_open_regression_of_the_branch(send_to, save, queue, event):
    send_to()
    save(event)

    assert queue() == ()


def test_a_new_target_is_told_of_nothing_that_was_there(send_to, save, queue, stored):
    old = save(an_event())
    send_to()
    new = save(an_event(15, changed("bert:step")))

    assert [work.edition for work in queue()] == [1]
    assert [one[0] for one in stored()] == [new.id]
    save(replace(old, state=EventState.FIXED, fixed_sha=sha(9)))
    assert len(queue()) == 1


def test_what_no_check_confirmed_is_told_only_where_that_is_wished(send_to, save, queue):
    confirmed_only, early = send_to(is_early=False), send_to(address="early")
    save(an_event())

    assert [work.target_id for work in queue()] == [early.id]
    assert confirmed_only.id != early.id


def test_a_merged_pull_requests_own_check_confirms_it(
    any_engine, send_to, save, *, queue, judged, make_bundle
):
    send_to(is_early=False)
    upload = judged(any_engine, make_bundle(pairs=4))
    save(an_event(pull_request=7, merged_sha=sha(5), measured_series=(changed(),)))

    [work] = queue()
    with read_session(any_engine) as session:
        assert notice_by_id(session, work.notice_id).upload_id == upload.id


@pytest.mark.parametrize(
    ("changes", "subject"),
    [
        ({"state": EventState.FIXED, "fixed_sha": sha(9)}, NoticeSubject.FIXED),
        ({"state": EventState.EXPECTED}, NoticeSubject.EXPECTED),
        ({"state": EventState.ENVIRONMENT}, NoticeSubject.ENVIRONMENT),
        ({"is_detected": False}, NoticeSubject.NOT_FOUND),
    ],
)
def test_the_end_of_an_event_is_told_once_and_so_is_its_return(
    send_to, save, queue, *, stored, set_sent, now, changes, subject
):
    send_to()
    event = save(an_event())
    set_sent(queue())
    save(replace(event, **changes))
    assert queue() == ()  # so soon after its beginning
    later = now + MIN_BETWEEN
    set_sent(queue(now=later), now=later)
    assert queue(now=later + HOUR) == ()
    assert stored() == [(event.id, subject, NoticeStatus.SENT, 2)]

    save(event)
    set_sent(queue(now=later + HOUR))
    assert stored() == [(event.id, NoticeSubject.OPEN, NoticeStatus.SENT, 3)]


def test_the_end_of_an_event_is_told_where_its_beginning_failed(
    any_engine, send_to, save, queue, *, stored, now
):
    send_to()
    event = save(an_event())
    [work] = queue()
    fail_notice(any_engine, work, "no answer", is_final=True)
    assert queue(now=now + HOUR) == ()  # what failed for a day is not sent again

    save(replace(event, state=EventState.FIXED, fixed_sha=sha(9)))
    [end] = queue(now=now + HOUR)
    assert (end.notice_id, end.edition) == (work.notice_id, 2)
    assert stored() == [(event.id, NoticeSubject.FIXED, NoticeStatus.QUEUED, 2)]
    with read_session(any_engine) as session:
        notice = notice_by_id(session, work.notice_id)
    assert notice is not None
    assert notice.problem == ""  # that of the first edition is over


def test_that_somebody_works_on_it_is_not_told(send_to, save, queue, set_sent, now):
    send_to()
    event = save(an_event())
    set_sent(queue())
    save(replace(event, state=EventState.ACKNOWLEDGED))

    assert queue(now=now + HOUR) == ()


def test_the_end_of_what_was_not_told_is_not_told(send_to, save, queue, stored, now):
    send_to()
    event = save(an_event())
    queue()
    save(replace(event, state=EventState.FIXED, fixed_sha=sha(9)))
    queue(now=now + HOUR)

    assert stored() == [(event.id, NoticeSubject.OPEN, NoticeStatus.QUEUED, 1)]


def test_an_event_that_moves_has_no_second_notice(send_to, save, queue, *, stored, set_sent, now):
    send_to()
    event = save(an_event(5))
    set_sent(queue())
    save(replace(an_event(7), id=event.id))

    assert queue(now=now + HOUR) == ()
    assert len(stored()) == 1


def test_a_part_of_a_regrouped_event_has_no_second_notice(send_to, save, queue, stored, now):
    send_to()
    first = save(an_event(5, changed(), changed("bert:step")))
    queue()
    save(replace(an_event(5), id=first.id))
    part = save(an_event(6, changed("bert:step")))
    other = save(an_event(6, changed("vit:step")))
    queue(now=now + HOUR)

    assert [one[0] for one in stored()] == [first.id, other.id]
    assert part.id not in {one[0] for one in stored()}


def test_a_notice_belongs_to_the_event_that_more_data_made_of_it(
    send_to, save, queue, *, stored, set_sent, now
):
    send_to()
    old = save(an_event(5))
    set_sent(queue())
    save(replace(old, is_detected=False))
    new = save(an_event(6, changed(), changed("bert:step")))
    assert queue(now=now + HOUR) == ()
    assert stored() == [(new.id, NoticeSubject.OPEN, NoticeStatus.SENT, 1)]

    save(replace(new, state=EventState.FIXED, fixed_sha=sha(9)))
    assert [work.edition for work in queue(now=now + 2 * HOUR)] == [2]


def test_a_regression_after_a_fixed_one_is_another(send_to, save, queue, *, stored, set_sent, now):
    send_to()
    old = save(an_event(5))
    set_sent(queue())
    save(replace(old, state=EventState.FIXED, fixed_sha=sha(6)))
    new = save(an_event(7))
    queue(now=now + HOUR)

    assert (new.id, NoticeSubject.OPEN, NoticeStatus.QUEUED, 1) in stored()


def test_more_than_the_quota_are_counted_in_one_summary_an_hour(
    send_to, save, queue, *, stored, now, any_engine, project
):
    send_to(hourly=2)
    for number in range(5):
        save(an_event(2 + 4 * number, changed(f"w{number}:step")))
    assert len(queue()) == 3  # two, and one for the other three
    save(an_event(25, changed("late:step")))
    queue(now=now + timedelta(minutes=5))
    with read_session(any_engine) as session:
        summaries = [one for one in notices_of(session, project.id) if one.count]
    assert [one.count for one in summaries] == [3]

    queue(now=now + HOUR)
    counted = [one[2] for one in stored() if one[2] is NoticeStatus.COUNTED]
    assert len(counted) == 4
    assert [one[1] for one in stored()].count(NoticeSubject.SUMMARY) == 2


def test_the_weekly_report_is_queued_once_a_week_from_the_next_monday_on(
    send_to, queue, stored, set_sent
):
    send_to(is_weekly=True, now=MONDAY + 9 * HOUR)
    assert queue(now=MONDAY + 10 * HOUR) == ()
    next_week = MONDAY + timedelta(days=7)
    assert queue(now=next_week + 7 * HOUR) == ()
    set_sent(queue(now=next_week + 8 * HOUR))
    assert queue(now=next_week + timedelta(days=6)) == ()
    # After three weeks without a service only the newest one is due.
    assert len(queue(now=next_week + timedelta(days=23))) == 1

    assert [one[1] for one in stored()] == [NoticeSubject.TRIAGE] * 2


def test_looking_for_reports_uses_up_no_numbers(send_to, queue, set_sent):
    """PostgreSQL takes a number for each row that it does not insert, and has so many."""
    send_to(is_weekly=True, now=MONDAY - HOUR)
    (first,) = [queue(now=MONDAY + hours * HOUR) for hours in (8, 9, 10)][-1]
    set_sent([first])
    (second,) = queue(now=MONDAY + timedelta(days=7) + 8 * HOUR)

    assert second.notice_id == first.notice_id + 1
