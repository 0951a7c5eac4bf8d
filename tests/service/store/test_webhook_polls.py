"""Whose turn it is to poll GitHub's deliveries, on both databases."""

from dataclasses import replace
from datetime import timedelta

from perfledger_service.store.database import write_session
from perfledger_service.store.webhook_polls import claim_poll, save_poll, webhook_poll

MINUTE = timedelta(minutes=1)


def test_a_poll_is_claimed_once_until_the_next_is_due(any_engine, now):
    with write_session(any_engine) as session:
        assert webhook_poll(session) is None
        first = claim_poll(session, due_at=now + MINUTE, now=now)
        assert first is not None
        assert (first.read_until, first.due_at) == (now, now + MINUTE)
        assert claim_poll(session, due_at=now + MINUTE, now=now) is None
        assert claim_poll(session, due_at=now + 2 * MINUTE, now=now + MINUTE) is not None


def test_what_a_poll_found_is_kept(any_engine, now):
    with write_session(any_engine) as session:
        first = claim_poll(session, due_at=now + MINUTE, now=now)
        assert first is not None
        poll = replace(first, polled_at=now, redelivered=3, abandoned=1, problem="x")
        save_poll(session, poll)

        assert webhook_poll(session) == poll
