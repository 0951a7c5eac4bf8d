from datetime import timedelta

import pytest

from perfledger_service.errors import NotFoundError, RefusedError, UsageError
from perfledger_service.usecases.people import tokens
from perfledger_service.usecases.people.audit import audit_log
from perfledger_service.usecases.people.roles import ROLE_FRESH, ROLE_STALE
from perfledger_service.usecases.people.tokens import (
    MAX_PERSONAL_DAYS,
    make_personal_token,
    personal_tokens,
    revoke_personal_token,
    token_holder,
)
from perfledger_service.values.people.person import AuditAction, Role
from perfledger_service.values.token_scope import TokenScope


@pytest.fixture
def make(any_engine, alice, project_ids, now):
    def make(*, role=Role.MAINTAINER, scope=TokenScope.READ, days=30, repository="octo/models"):
        return make_personal_token(
            any_engine,
            alice,
            repository,
            roles={project_ids["octo/models"]: role},
            scope=scope,
            days=days,
            address="192.0.2.7",
            now=now,
        )

    return make


@pytest.fixture
def holder(any_engine, permissions, now):
    permissions.permissions["octo/models"] = "write"

    def holder(token, scope=TokenScope.READ, *, after=timedelta(0)):
        return token_holder(any_engine, token, permissions, scope=scope, now=now + after)

    return holder


@pytest.mark.parametrize("scope", list(TokenScope))
def test_a_token_speaks_for_its_project_in_the_persons_name(make, holder, scope):
    token = make(scope=scope)
    held_token_holder = holder(token, scope)

    assert held_token_holder.project.repository == "octo/models"
    assert held_token_holder.name == f"alice ({token[:11]})"


def test_a_projects_own_token_speaks_as_before(holder, project_ids):
    held_token_holder = holder(f"pl_00000001_{'s' * 43}", TokenScope.UPLOAD)

    assert (held_token_holder.project.id, held_token_holder.name) == (
        project_ids["octo/other"],
        "pl_00000001",
    )


@pytest.mark.parametrize(
    ("role", "scope"),
    [(Role.VIEWER, TokenScope.UPLOAD), (Role.VIEWER, TokenScope.MAINTAIN)],
)
def test_no_scope_goes_beyond_the_role(make, role, scope):
    with pytest.raises(RefusedError, match="needs the role maintainer in octo/models"):
        make(role=role, scope=scope)


@pytest.mark.parametrize("repository", ["octo/other", "octo/nothing"])
def test_a_project_that_one_may_not_view_is_none(make, repository):
    with pytest.raises(NotFoundError, match=f"{repository} is not a project"):
        make(repository=repository)


@pytest.mark.parametrize("days", [0, -1, MAX_PERSONAL_DAYS + 1, 10**20])
def test_every_token_of_a_person_ends(make, days):
    with pytest.raises(UsageError, match="ends after 1 to 366 days"):
        make(days=days)


def test_a_person_has_so_many_tokens_at_a_time(make, any_engine, alice, monkeypatch, now):
    monkeypatch.setattr(tokens, "MAX_PERSONAL_TOKENS", 2)
    prefix = make()[:11]
    make()
    with pytest.raises(UsageError, match="revoke one"):
        make()

    revoke_personal_token(any_engine, alice, prefix, address="", now=now)
    make()
    listed = personal_tokens(any_engine, alice, now=now)
    assert [one.is_live for one in listed] == [False, True, True]
    ended = personal_tokens(any_engine, alice, now=now + timedelta(days=30))
    assert [one.is_live for one in ended] == [False] * 3


@pytest.mark.parametrize(
    ("permission", "allowed"),
    [
        ("admin", {TokenScope.READ, TokenScope.MAINTAIN}),
        ("read", {TokenScope.READ}),
        ("none", set()),
    ],
)
def test_what_a_token_may_do_follows_the_persons_role(
    make, holder, permissions, permission, allowed
):
    token = make(scope=TokenScope.MAINTAIN)
    permissions.permissions["octo/models"] = permission
    for scope in (TokenScope.READ, TokenScope.MAINTAIN):
        if scope in allowed:
            holder(token, scope, after=ROLE_FRESH)
        else:
            with pytest.raises(RefusedError, match="is a person's who may not") as refused:
                holder(token, scope, after=ROLE_FRESH)
            assert refused.value.status == 403


def test_while_github_does_not_answer_a_token_works_for_an_hour(make, holder, permissions):
    token = make()
    holder(token)
    permissions.fail()

    holder(token, after=ROLE_STALE - timedelta(seconds=1))
    with pytest.raises(RefusedError):
        holder(token, after=ROLE_STALE)


def test_an_expired_and_a_forged_token_are_none(make, holder):
    token = make(days=1)
    for text, after in ((token, timedelta(days=1)), (token[:-1], timedelta(0)), ("", timedelta(0))):
        with pytest.raises(RefusedError) as refused:
            holder(text, after=after)
        assert refused.value.status == 401


def test_a_person_revokes_a_token_once_in_the_audit_log(make, any_engine, alice, now):
    prefix = make()[:11]
    for _ in range(2):
        revoke_personal_token(any_engine, alice, prefix, address="", now=now)

    actions = [one.action for one in audit_log(any_engine, most=10)]
    assert actions.count(AuditAction.REVOKE_TOKEN) == 1


def test_a_person_revokes_no_token_of_others(make, any_engine, alice_of_proxy, now):
    prefix = make()[:11]
    for other in (prefix, "pl_00000001", "pl_"):
        with pytest.raises(NotFoundError, match="you have no token"):
            revoke_personal_token(any_engine, alice_of_proxy, other, address="", now=now)
