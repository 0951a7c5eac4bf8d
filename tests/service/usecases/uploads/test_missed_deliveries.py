"""Webhooks that GitHub could not deliver: which are repeated, how often, and by which replica."""

from datetime import timedelta

import pytest

from perfledger_service.errors import GitHubError
from perfledger_service.github.webhook_deliveries import WebhookDelivery
from perfledger_service.usecases.uploads import missed_deliveries
from perfledger_service.usecases.uploads.missed_deliveries import (
    MAX_AGE,
    MAX_ATTEMPTS,
    MAX_POLL_WAIT,
    POLL_INTERVAL,
    last_poll,
    missed_events,
    redeliver_missed,
)

MINUTE = timedelta(minutes=1)


class Deliveries:
    """What GitHub keeps of deliveries; those that it repeats fail until the endpoint is back."""

    def __init__(self, now):
        self.now, self.log, self.repeated, self.error = now, [], [], None
        self.is_endpoint_up = False
        self.read = 0

    def add(self, guid, *, is_received=False, event="issue_comment", at=None, is_repeated=False):
        delivery = WebhookDelivery(
            id=len(self.log) + 1,
            guid=guid,
            event=event,
            delivered_at=at or self.now,
            is_received=is_received,
            is_repeated=is_repeated,
        )
        self.log.append(delivery)

    def attempts(self):
        if self.error:
            raise self.error
        for delivery in reversed(self.log):
            self.read += 1
            yield delivery

    def redeliver(self, delivery_id):
        if self.error:
            raise self.error
        guid = self.log[delivery_id - 1].guid
        self.repeated.append(guid)
        self.add(guid, is_received=self.is_endpoint_up, is_repeated=True)


@pytest.fixture
def deliveries(now):
    return Deliveries(now)


@pytest.fixture
def poll(any_engine, deliveries):
    """Poll after some time."""

    def poll(after=timedelta()):
        deliveries.now += after
        redeliver_missed(any_engine, deliveries, now=deliveries.now)
        return last_poll(any_engine)

    poll()
    return poll


def test_what_failed_is_repeated_until_it_is_received_and_nothing_else(poll, deliveries):
    deliveries.add("failed")
    deliveries.add("received", is_received=True)
    deliveries.add("not read", event="workflow_run")
    poll(MINUTE)
    assert deliveries.repeated == ["failed"]
    poll(MINUTE)  # the second wait is longer
    assert deliveries.repeated == ["failed"]
    deliveries.is_endpoint_up = True
    poll(MINUTE)
    for _ in range(20):
        poll(30 * MINUTE)

    assert deliveries.repeated == ["failed", "failed"]


def test_what_was_missed_while_the_service_was_down_is_repeated_oldest_first(poll, deliveries):
    deliveries.is_endpoint_up = True
    for guid in ("one", "two"):
        deliveries.now += timedelta(hours=1)
        deliveries.add(guid)
    state = poll(timedelta(hours=30))

    assert deliveries.repeated == ["one", "two"]
    assert (state.redelivered, state.abandoned, state.problem) == (2, 0, "")


@pytest.mark.slow(ci_only=True)
def test_an_event_is_given_up_once_and_for_all_after_so_many_attempts(poll, deliveries):
    deliveries.add("poison")
    states = [poll(10 * MINUTE) for _ in range(200)]

    assert len(deliveries.repeated) == MAX_ATTEMPTS - 1
    assert max(state.abandoned for state in states) == 1
    assert states[-1].read_until == deliveries.now


def test_what_failed_before_the_service_was_there_is_left_alone(any_engine, deliveries, now):
    deliveries.add("old", at=now - timedelta(hours=1))
    for minutes in range(5):
        redeliver_missed(any_engine, deliveries, now=now + minutes * MINUTE)

    assert deliveries.repeated == []


def test_what_github_does_not_keep_any_more_is_not_asked_for(poll, deliveries):
    deliveries.add("old")
    poll(MAX_AGE + 2 * MINUTE)

    assert deliveries.repeated == []


def test_a_poll_is_bounded_and_the_next_goes_on(poll, deliveries, monkeypatch):
    monkeypatch.setattr(missed_deliveries, "MAX_REDELIVERIES", 2)
    deliveries.is_endpoint_up = True
    for guid in "abcde":
        deliveries.add(guid)
    state = poll(MINUTE)
    assert deliveries.repeated == ["a", "b"]
    assert "the next goes on" in state.problem
    state = [poll(MINUTE) for _ in range(2)][-1]

    assert deliveries.repeated == list("abcde")
    assert state.problem == ""


def test_no_more_is_read_than_the_limit(poll, deliveries, monkeypatch):
    monkeypatch.setattr(missed_deliveries, "MAX_READ", 3)
    for guid in "abcde":
        deliveries.add(guid, is_received=True)
    deliveries.read = 0
    state = poll(MINUTE)

    assert deliveries.read == 3
    assert state.problem


def test_polls_that_fail_wait_longer_and_never_less_than_github_asks_for(poll, deliveries):
    deliveries.add("failed")
    deliveries.error = GitHubError("GitHub answered 502", is_transient=True)
    first = poll(MINUTE)
    assert (first.failures, first.problem) == (1, "GitHub answered 502")
    second = poll(MINUTE)
    assert second.due_at - deliveries.now == 2 * POLL_INTERVAL
    assert poll(MINUTE) == second  # it is not due
    deliveries.error = GitHubError("limit", is_transient=True, wait_s=5400.0)
    third = poll(MINUTE)
    assert third.due_at - deliveries.now == timedelta(seconds=5400)
    deliveries.error = GitHubError("GitHub answered 502", is_transient=True)
    state = [poll(2 * MAX_POLL_WAIT) for _ in range(20)][-1]
    assert state.due_at - deliveries.now == MAX_POLL_WAIT
    deliveries.error = None
    state = poll(MAX_POLL_WAIT)

    assert deliveries.repeated == ["failed"]
    assert (state.failures, state.problem) == (0, "")


@pytest.mark.usefixtures("poll")
def test_of_two_replicas_one_polls(any_engine, deliveries):
    deliveries.add("failed")
    deliveries.now += MINUTE
    for _ in range(2):
        redeliver_missed(any_engine, deliveries, now=deliveries.now)

    assert deliveries.repeated == ["failed"]


def test_an_event_whose_first_attempt_is_not_here_was_decided_before(deliveries, now):
    deliveries.add("given up", is_repeated=True)
    missed = missed_events(deliveries.attempts(), now=now + timedelta(hours=1))

    assert (missed.due, missed.abandoned, missed.since) == ((), 0, None)
