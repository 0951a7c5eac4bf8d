"""Stores persons."""

from datetime import datetime

import msgspec
from sqlmodel import Session, col, select

from perfledger_service.errors import NotFoundError
from perfledger_service.store.tables import PersonRow, add_if_new
from perfledger_service.values.people.person import Person, PersonProvider

PROXY_PREFIX = f"{PersonProvider.PROXY}:"
_PERSON_DECODER = msgspec.json.Decoder(Person)


def person_for(
    session: Session, provider: PersonProvider, subject: str, *, login: str, now: datetime
) -> Person:
    """Return the person of an account, with its login of today; add the person if there is none.

    Another account that had the login before has lost it: its new one is not known.
    """
    account = {"provider": provider, "subject": subject}
    add_if_new(session, PersonRow, account | {"login": login, "created_at": now})
    rows = session.exec(
        select(PersonRow)
        .where(
            col(PersonRow.provider) == provider,
            (col(PersonRow.subject) == subject) | (col(PersonRow.login) == login),
        )
        .order_by(col(PersonRow.id))  # the same for all who lock them
    ).all()
    for other in rows:
        if other.subject != subject:
            other.login = f"account {other.subject}"
    [row] = [one for one in rows if one.subject == subject]
    row.login = login
    session.add(row)
    session.flush()
    return row.to_value(_PERSON_DECODER)


def person_by_id(session: Session, person_id: int) -> Person:
    """Return a person."""
    row = session.exec(select(PersonRow).where(col(PersonRow.id) == person_id)).one()
    return row.to_value(_PERSON_DECODER)


def person_named(session: Session, name: str) -> Person:
    """Return the person of a name; raise NotFoundError for none."""
    is_proxy = name.startswith(PROXY_PREFIX)
    provider = PersonProvider.PROXY if is_proxy else PersonProvider.GITHUB
    row = session.exec(
        select(PersonRow).where(
            col(PersonRow.provider) == provider,
            col(PersonRow.login) == name.removeprefix(PROXY_PREFIX if is_proxy else ""),
        )
    ).first()
    if row is None:
        msg = f"{name[:200]!r} has not signed in yet: `perfledger server person list` shows who has"
        raise NotFoundError(msg)
    return row.to_value(_PERSON_DECODER)


def persons(session: Session) -> tuple[Person, ...]:
    """Return all persons by login."""
    rows = session.exec(select(PersonRow).order_by(col(PersonRow.login), col(PersonRow.id)))
    return tuple(row.to_value(_PERSON_DECODER) for row in rows)
