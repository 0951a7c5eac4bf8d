"""Which commits of forks may run, whichever of a permission and a push arrives first."""

from datetime import timedelta

import pytest

from perfledger_service.store.comments.fork_permissions import (
    allow_head,
    is_allowed,
    revoke_head,
    revoke_permissions,
)
from perfledger_service.store.database import write_session
from perfledger_service.store.projects import project_for
from perfledger_service.store.uploads import CheckedHead

SECOND = timedelta(seconds=1)


@pytest.fixture
def session(any_engine):
    with write_session(any_engine) as session:
        yield session


@pytest.fixture
def heads(session, now):
    """Two heads of a pull request, and one of another."""
    project = project_for(session, "octo/models", now=now)
    return [
        CheckedHead(
            project_id=project.id, repository="octo/models", pull_request=number, head_sha=sha * 40
        )
        for number, sha in ((7, "a"), (7, "b"), (8, "a"))
    ]


def test_exactly_one_commit_of_one_pull_request_is_allowed(session, heads, now):
    for _ in range(2):
        assert allow_head(session, heads[0], login="alice", allowed_at=now)

    assert [is_allowed(session, head) for head in heads] == [True, False, False]


def test_a_push_revokes_what_was_allowed_before_it_and_not_what_is_allowed_after(
    session, heads, now
):
    allow_head(session, heads[0], login="alice", allowed_at=now)
    revoke_head(session, heads[0], now=now + SECOND)
    assert not is_allowed(session, heads[0])
    assert not allow_head(session, heads[0], login="alice", allowed_at=now + SECOND)
    assert allow_head(session, heads[0], login="alice", allowed_at=now + 2 * SECOND)

    assert is_allowed(session, heads[0])


def test_a_push_that_is_heard_of_first_revokes_a_permission_that_arrives_later(session, heads, now):
    revoke_head(session, heads[0], now=now + SECOND)

    assert not allow_head(session, heads[0], login="alice", allowed_at=now)
    assert not is_allowed(session, heads[0])


def test_what_is_revoked_is_revoked_for_the_whole_pull_request(session, heads, now):
    for head in heads:
        allow_head(session, head, login="alice", allowed_at=now)
    project_id = heads[0].project_id

    assert revoke_permissions(session, project_id, 7, revoked_at=now + SECOND)
    assert [is_allowed(session, head) for head in heads] == [False, False, True]
    assert not revoke_permissions(session, project_id, 7, revoked_at=now + SECOND)
    assert not allow_head(session, heads[1], login="alice", allowed_at=now)


def test_a_revocation_leaves_what_was_allowed_after_it(session, heads, now):
    allow_head(session, heads[0], login="alice", allowed_at=now + SECOND)

    assert not revoke_permissions(session, heads[0].project_id, 7, revoked_at=now)
    assert is_allowed(session, heads[0])
