"""Presents people who signed in, and the roles granted to them."""

from collections.abc import Sequence

from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    fact,
    fact_document,
    figure,
    name,
    table,
)
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.values.people.person import Person, ProjectRole, Role

_PERSON_COLUMNS: tuple[Column[Person], ...] = (
    name("name", "person", lambda person: person.name, limit=MAX_LONG_NAME),
    figure("provider", "by", lambda person: person.provider.value),
    fact("subject", lambda person: person.subject),
)
_GRANT_COLUMNS: tuple[Column[ProjectRole], ...] = (
    name("person", "person", lambda grant: grant.person, limit=MAX_LONG_NAME),
    name("repository", "project", lambda grant: grant.repository, limit=MAX_LONG_NAME),
    figure("role", "role", lambda grant: grant.role.value),
    name("granted_by", "granted by", lambda grant: grant.granted_by, limit=MAX_LONG_NAME),
    figure("granted_on", "on", lambda grant: grant.granted_at.date().isoformat()),
)


def people_document(people: Sequence[Person], grants: Sequence[ProjectRole]) -> Document:
    """Return people who signed in, and the roles granted to them."""
    return Document(
        name="perfledger-people",
        blocks=(
            table(_PERSON_COLUMNS, people, key="people"),
            table(_GRANT_COLUMNS, grants, key="grants"),
        ),
    )


def role_document(person: str, repository: str, role: Role | None) -> Document:
    """Return the role granted to a person in a project; None if it was withdrawn."""
    sentence = (
        f"{person} has no granted role in {repository}."
        if role is None
        else f"{person} is {role} of {repository}."
    )
    return fact_document(
        "perfledger-granted-role",
        {"person": person, "repository": repository, "role": role},
        sentence,
        names=(person, repository),
    )


def ended_sessions_document(person: str, sessions: int) -> Document:
    """Return how many of a person's sessions were ended."""
    return fact_document(
        "perfledger-ended-sessions",
        {"person": person, "sessions": sessions},
        f"{quantity(sessions, 'session')} of {person} ended.",
        names=(person,),
    )
