"""Has GitHub repeat the webhooks that it could not deliver, which it never does by itself.

The attempts are read from GitHub's own list, so that nothing is lost after a crash. A repeated
delivery changes nothing: commands are stored by their comment, pushes by their commits.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice, takewhile

from sqlalchemy import Engine

from perfledger_service.errors import GitHubError
from perfledger_service.github.webhook_deliveries import WebhookDeliveries, WebhookDelivery
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.webhook_polls import (
    WebhookPoll,
    claim_poll,
    save_poll,
    webhook_poll,
)

# The GitHub events to which the App subscribes.
SUBSCRIBED_EVENTS = frozenset({"issue_comment", "merge_group", "pull_request"})
# Those that the service reads. GitHub sends the ones of checks to every App that may write checks.
READ_EVENTS = SUBSCRIBED_EVENTS | {"check_run", "check_suite"}
POLL_INTERVAL = timedelta(minutes=1)  # between questions about deliveries that failed
MAX_POLL_WAIT = timedelta(hours=1)  # after polls that failed
# GitHub repeats only deliveries up to this age.
MAX_AGE = timedelta(days=3)
# A failed event is repeated 1, 2, 4, … minutes after the previous attempt, for eight hours.
MAX_ATTEMPTS = 10
FIRST_WAIT, MAX_WAIT = timedelta(minutes=1), timedelta(hours=2)
# GitHub's clock error, and how late it lists an attempt.
OVERLAP = timedelta(minutes=10)
MAX_READ = 5_000  # attempts read in one poll, newest first
MAX_REDELIVERIES = 50  # in one poll


@dataclass(frozen=True, slots=True)
class MissedEvents:
    """Attempts due for repetition, and the number of events no longer repeated.

    `since` is when the oldest event failed that is still repeated, None if there is none.
    """

    due: tuple[WebhookDelivery, ...]
    abandoned: int
    since: datetime | None


def redeliver_missed(engine: Engine, deliveries: WebhookDeliveries, *, now: datetime) -> None:
    """Poll GitHub's deliveries if due, and have GitHub repeat those not received.

    Only one of several replicas polls. A failure is stored, and the next poll waits longer.
    """
    with write_session(engine) as session:
        poll = claim_poll(session, due_at=now + POLL_INTERVAL, now=now)
        session.commit()
    if poll is None:
        return
    repeated = 0
    try:
        since = max(poll.read_until - OVERLAP, now - MAX_AGE)
        attempts = read_attempts(deliveries, since=since)
        missed = missed_events(attempts, now=now)
        for delivery in missed.due[:MAX_REDELIVERIES]:
            deliveries.redeliver(delivery.id)
            repeated += 1
        is_all = len(attempts) < MAX_READ and len(missed.due) <= MAX_REDELIVERIES
        poll = replace(
            poll,
            read_until=min(now, missed.since or now) if is_all else poll.read_until,
            polled_at=now,
            failures=0,
            abandoned=missed.abandoned,
            problem="" if is_all else "more failed than one poll repeats: the next goes on",
        )
    except GitHubError as error:
        wait = max(_wait_after(poll.failures), timedelta(seconds=error.wait_s or 0.0))
        failures = poll.failures + 1
        poll = replace(poll, failures=failures, due_at=now + wait, problem=str(error))
    with write_session(engine) as session:
        save_poll(session, replace(poll, redelivered=poll.redelivered + repeated))
        session.commit()


def last_poll(engine: Engine) -> WebhookPoll | None:
    """Return the results of the polls of GitHub's deliveries so far, None if there are none."""
    with read_session(engine) as session:
        return webhook_poll(session)


def read_attempts(deliveries: WebhookDeliveries, *, since: datetime) -> tuple[WebhookDelivery, ...]:
    """Return the attempts since a time, newest first, at most MAX_READ; raise GitHubError."""
    recent = takewhile(lambda one: one.delivered_at >= since, deliveries.attempts())
    return tuple(islice(recent, MAX_READ))


def missed_events(attempts: Iterable[WebhookDelivery], *, now: datetime) -> MissedEvents:
    """Return what to repeat, the oldest first, of attempts that are sorted newest first."""
    by_guid: dict[str, list[WebhookDelivery]] = {}
    for one in attempts:
        if one.event in READ_EVENTS:
            by_guid.setdefault(one.guid, []).append(one)
    failed = [
        each
        for each in by_guid.values()
        # Without its first attempt here, it was received or given up before.
        if not (each[-1].is_repeated or any(one.is_received for one in each))
    ]
    pending = [each for each in failed if len(each) < MAX_ATTEMPTS]
    due = [each[0] for each in pending if each[0].delivered_at + _wait(len(each)) <= now]
    return MissedEvents(
        due=tuple(sorted(due, key=lambda one: one.id)),
        abandoned=len(failed) - len(pending),
        since=min((each[-1].delivered_at for each in pending), default=None),
    )


def _wait(attempts: int) -> timedelta:
    """Return how long after its last attempt an event is repeated."""
    return min(MAX_WAIT, FIRST_WAIT * (1 << attempts - 1))


def _wait_after(failures: int) -> timedelta:
    return min(MAX_POLL_WAIT, POLL_INTERVAL * (1 << min(failures, 10)))
