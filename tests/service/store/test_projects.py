"""Tests storing projects and their tokens, on each kind of database."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError, NoResultFound
from sqlmodel import select

from perfledger_service.errors import ConflictError, NotFoundError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.projects import (
    add_token,
    lock_project,
    project_for,
    project_named,
    projects,
    revoke_token,
    token_of_prefix,
    tokens,
    use_actions_token,
)
from perfledger_service.store.tables import ActionsTokenRow
from perfledger_service.values.token_scope import TokenScope

PREFIX, OTHER_PREFIX = "pl_0123abcd", "pl_4567cdef"
FOR_EVER: dict[str, Any] = {"scope": TokenScope.UPLOAD, "expires_at": None}


@pytest.fixture
def session(any_engine):
    with write_session(any_engine) as session:
        yield session


def test_a_repository_is_one_project_however_it_is_written(session, now):
    first = project_for(session, "Octo/Models", now=now)
    second = project_for(session, "octo/models", now=now)

    assert first == second
    assert first.repository == "Octo/Models"
    assert project_named(session, "OCTO/MODELS") == first


def test_a_repository_that_is_no_project_says_how_to_add_it(session):
    with pytest.raises(NotFoundError, match="run `perfledger server project add octo/models`"):
        project_named(session, "octo/models")


def test_projects_are_in_the_order_of_their_names_without_case(session, now):
    for name in ("octo/b", "Octo/C", "octo/a"):
        project_for(session, name, now=now)

    assert [project.repository for project in projects(session)] == ["octo/a", "octo/b", "Octo/C"]


def test_a_token_is_found_by_its_prefix_with_its_project(session, now):
    project = project_for(session, "octo/models", now=now)
    add_token(session, project, prefix=PREFIX, sha256="f" * 64, **FOR_EVER, now=now)

    token = token_of_prefix(session, PREFIX)

    assert token.project == project
    assert (token.prefix, token.sha256) == (PREFIX, "f" * 64)
    assert (token.created_at, token.revoked_at) == (now, None)
    assert token_of_prefix(session, OTHER_PREFIX) is None


def test_a_prefix_is_of_one_token(session, now):
    project = project_for(session, "octo/models", now=now)
    add_token(session, project, prefix=PREFIX, sha256="f" * 64, **FOR_EVER, now=now)

    with pytest.raises(IntegrityError):
        add_token(session, project, prefix=PREFIX, sha256="e" * 64, **FOR_EVER, now=now)


def test_tokens_are_by_project_then_by_age(session, now):
    later, earlier = (project_for(session, name, now=now) for name in ("octo/z", "octo/a"))
    for number, project in enumerate((later, earlier, later)):
        add_token(session, project, prefix=f"pl_{number:08}", sha256="f" * 64, **FOR_EVER, now=now)

    assert [(token.project.repository, token.prefix) for token in tokens(session)] == [
        ("octo/a", "pl_00000001"),
        ("octo/z", "pl_00000000"),
        ("octo/z", "pl_00000002"),
    ]


def test_a_revoked_token_stays_revoked_since_the_first_time(session, now):
    project = project_for(session, "octo/models", now=now)
    for prefix in (PREFIX, OTHER_PREFIX):
        add_token(session, project, prefix=prefix, sha256="f" * 64, **FOR_EVER, now=now)

    is_new = [revoke_token(session, PREFIX, now=now + timedelta(days=days)) for days in (1, 2)]

    assert is_new == [True, False]
    assert token_of_prefix(session, PREFIX).revoked_at == now + timedelta(days=1)
    assert token_of_prefix(session, OTHER_PREFIX).revoked_at is None


def test_an_unknown_token_cannot_be_revoked(session, now):
    with pytest.raises(NotFoundError, match="no token begins with 'pl_0123abcd'"):
        revoke_token(session, PREFIX, now=now)


def test_what_is_not_committed_is_not_stored(any_engine, now):
    with write_session(any_engine) as session:
        project_for(session, "octo/models", now=now)

    with read_session(any_engine) as session:
        assert projects(session) == ()


def test_a_project_is_locked_only_if_there_is_one(session, now):
    lock_project(session, project_for(session, "octo/models", now=now).id)

    with pytest.raises(NoResultFound):
        lock_project(session, 99)


@pytest.fixture
def use(any_engine, now):
    def use(jti, bundle, *, minutes=0):
        moment = now + timedelta(minutes=minutes)
        with write_session(any_engine) as session:
            end = moment + timedelta(minutes=5)
            use_actions_token(session, jti, bundle_sha256=bundle, expires_at=end, now=moment)
            session.commit()
            return session.exec(select(ActionsTokenRow.jti).order_by(ActionsTokenRow.jti)).all()

    return use


def test_a_token_brings_one_bundle_as_often_as_it_is_sent(use):
    assert use("a", "first") == use("a", "first") == ["a"]

    with pytest.raises(ConflictError, match="came with another bundle"):
        use("a", "second")


def test_tokens_that_ended_are_forgotten(use):
    use("a", "first")

    assert use("b", "second", minutes=6) == ["b"]
