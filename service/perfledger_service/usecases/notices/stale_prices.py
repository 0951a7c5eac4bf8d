"""Queues a notice if the prices that the service uses are too old."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger_cost_models.prices.staleness import StalePrice, max_age_of, stale_prices
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.notices import (
    add_notice,
    last_of_kind,
    projects_with_targets,
    targets_of,
)
from perfledger_service.store.projects import lock_project
from perfledger_service.usecases.inputs.price_books import current_sheet
from perfledger_service.usecases.notices.queue import new_notice, queue_next_edition
from perfledger_service.values.notices.notice import (
    NoticeChannel,
    NoticeStatus,
    NoticeSubject,
    NoticeTarget,
)

PRICES_KEY = "prices-"
# After a day of attempts, or a refusal, nobody was notified and the prices are still old.
AFTER_FAILURE = timedelta(days=1)


def outdated_prices(*, today: date) -> tuple[StalePrice, ...]:
    """Return the prices of the service that are older than their kind stays valid.

    Raises as `current_sheet`.
    """
    stale = stale_prices(current_sheet(today=today), today=today)
    return tuple(one for one in stale if one.price.as_of <= today)


def queue_price_notices(engine: Engine, *, now: datetime) -> None:
    """Notify each chat and each address that gets the weekly report once that prices are old.

    There is one notice per kind of price, even if more of that kind become old later; it is
    repeated only after the oldest price was updated, or a day after it could not be sent. It can be
    repeated at any time, by any replica.
    """
    key = _key(outdated_prices(today=now.date()))
    if key == PRICES_KEY:
        return
    with read_session(engine) as session:
        project_ids = projects_with_targets(session)
    addresses: set[tuple[NoticeChannel, str]] = set()
    for project_id in project_ids:
        with write_session(engine) as session:
            lock_project(session, project_id)
            for target in targets_of(session, project_id):
                address = (target.channel, target.address)
                if target.is_weekly and address not in addresses and _is_shared(target):
                    addresses.add(address)
                    _queue(session, project_id, target, key, now=now)
            session.commit()


def _queue(
    session: Session, project_id: int, target: NoticeTarget, key: str, *, now: datetime
) -> None:
    last = last_of_kind(session, target.id, prefix=PRICES_KEY)
    if last is None or not _kinds(key) <= _kinds(last.key):
        add_notice(session, new_notice(project_id, target, key, NoticeSubject.PRICES, now=now))
    elif last.status is NoticeStatus.FAILED and now - last.queued_at >= AFTER_FAILURE:
        queue_next_edition(session, last, {}, now=now)


def _is_shared(target: NoticeTarget) -> bool:
    """Return whether a target serves more than a repository: prices concern the whole service."""
    return target.channel is not NoticeChannel.ISSUE


def _key(outdated: Sequence[StalePrice]) -> str:
    """Return the kinds of old prices, each with the day of its oldest price."""
    oldest: dict[str, date] = {}
    for one in outdated:
        kind = max_age_of(one.price.pricing_model).replace(" ", "-")
        oldest[kind] = min(one.price.as_of, oldest.get(kind, one.price.as_of))
    return PRICES_KEY + "+".join(f"{kind}-{day}" for kind, day in sorted(oldest.items()))


def _kinds(key: str) -> frozenset[str]:
    """Return the kinds of prices in a key, each with its day."""
    return frozenset(key.removeprefix(PRICES_KEY).split("+"))
