from datetime import timedelta

import pytest

from perfledger_service.errors import NotFoundError
from perfledger_service.usecases.people.audit import audit_log
from perfledger_service.usecases.people.roles import (
    MAX_QUESTIONS,
    grant_role,
    list_grants,
    revoke_role,
    roles_of,
)
from perfledger_service.usecases.server.project import add_project, let_actions_upload
from perfledger_service.values.people.person import Actor, Role

ROOT = Actor(name="root")
ROLE_FRESH, ROLE_STALE, ROLE_RETRY = timedelta(minutes=5), timedelta(hours=1), timedelta(minutes=1)
SECOND = timedelta(seconds=1)


@pytest.fixture
def ask(any_engine, alice, permissions, project_ids, now):
    """Return the names of alice's roles by repository, after some time."""

    def ask(after=timedelta(0), *, person=alice, github=permissions, **values):
        roles = roles_of(any_engine, person, github, now=now + after, **values)
        return {name: roles[number] for name, number in project_ids.items() if number in roles}

    return ask


@pytest.mark.parametrize(
    ("permission", "role"),
    [
        ("admin", Role.ADMIN),
        ("maintain", Role.MAINTAINER),
        ("write", Role.MAINTAINER),
        ("triage", Role.VIEWER),
        ("read", Role.VIEWER),
        ("none", None),
        ("owner of all", None),
        ("", None),
    ],
)
def test_a_role_is_what_github_permits(ask, permissions, permission, role):
    permissions.permissions["octo/models"] = permission

    assert ask() == ({"octo/models": role} if role else {})


def test_only_the_project_that_is_asked_for_is_asked_of_github(ask, permissions):
    permissions.permissions = {"octo/models": "write", "octo/other": "read"}

    assert ask(repository="Octo/Other") == {"octo/other": Role.VIEWER}
    assert permissions.questions == ["octo/other alice"]
    assert ask(repository="octo/nothing") == {}


def test_an_answer_holds_for_minutes(ask, permissions):
    permissions.permissions["octo/models"] = "write"
    ask()
    permissions.permissions["octo/models"] = "none"

    assert ask(ROLE_FRESH - SECOND) == {"octo/models": Role.MAINTAINER}
    assert len(permissions.questions) == 2
    assert ask(ROLE_FRESH) == {}
    assert len(permissions.questions) == 3  # that there is no role in the other one holds longer


def test_an_account_with_the_login_and_another_number_has_no_role(ask, permissions):
    permissions.permissions["octo/models"] = "admin"
    for other in (8, None):
        permissions.account_id = other
        assert ask(ROLE_FRESH * (other or 1)) == {}


def test_another_repository_with_the_projects_name_gives_no_role(any_engine, ask, permissions, now):
    let_actions_upload(
        any_engine, "octo/models", repository_id=41, owner_id=2, branch="main", now=now
    )
    permissions.permissions = {"octo/models": "admin", "octo/other": "read"}
    permissions.repository_ids["octo/models"] = 42  # the project's was renamed, this made anew

    assert ask() == {"octo/other": Role.VIEWER}
    permissions.repository_ids["octo/models"] = 41
    assert ask(ROLE_STALE)["octo/models"] is Role.ADMIN


def test_while_github_fails_the_last_answer_holds_for_an_hour(ask, permissions):
    permissions.permissions["octo/models"] = "write"
    ask()
    permissions.fail()

    assert ask(ROLE_STALE - SECOND) == {"octo/models": Role.MAINTAINER}
    assert ask(ROLE_STALE) == {}


def test_while_nobody_answers_one_request_a_minute_waits(ask, permissions):
    permissions.fail()

    for after in (timedelta(0), SECOND, ROLE_RETRY - SECOND):
        assert ask(after, repository="octo/models") == {}
    assert permissions.questions == ["octo/models alice"]
    for after in (ROLE_RETRY, ROLE_RETRY + SECOND):
        ask(after)
    # The one that was never asked for, and after it none: GitHub is away for all of them.
    assert permissions.questions[1:] == ["octo/other alice"]


def test_that_somebody_has_no_role_holds_for_an_hour_on_pages_of_all_projects(ask, permissions):
    assert ask() == {}
    permissions.permissions["octo/models"] = "read"

    assert ask(ROLE_STALE - SECOND) == {}
    assert ask(ROLE_FRESH, repository="octo/models") == {"octo/models": Role.VIEWER}
    assert ask(ROLE_FRESH + SECOND) == {"octo/models": Role.VIEWER}


def test_a_page_of_all_projects_asks_for_some_and_the_next_for_others(
    any_engine, ask, permissions, now
):
    names = [f"octo/p{number}" for number in range(MAX_QUESTIONS + 2)]
    for number, name in enumerate(names):
        add_project(any_engine, name, token=f"pl_{number + 9:08x}_" + "t" * 43, now=now)

    ask()
    first = list(permissions.questions)
    ask()

    assert len(first) == MAX_QUESTIONS
    assert len(set(permissions.questions)) == len(permissions.questions) == len(names) + 2


def test_one_repository_without_the_app_does_not_hide_another(ask, permissions):
    permissions.fail(status=404)

    assert ask() == {}
    assert len(permissions.questions) == 2


def test_the_greater_of_both_roles_counts(any_engine, ask, permissions, now):
    permissions.permissions = {"octo/models": "admin"}
    for repository in ("octo/models", "octo/other"):
        grant_role(any_engine, "alice", repository, Role.VIEWER, actor=ROOT, now=now)

    assert ask() == {"octo/models": Role.ADMIN, "octo/other": Role.VIEWER}
    grant_role(any_engine, "alice", "octo/other", Role.MAINTAINER, actor=ROOT, now=now)
    assert ask()["octo/other"] is Role.MAINTAINER


def test_githubs_permissions_are_not_those_of_a_proxys_names(ask, permissions, alice_of_proxy):
    permissions.permissions = {"octo/models": "admin"}

    assert ask(person=alice_of_proxy) == {}
    assert permissions.questions == []


def test_without_an_app_only_grants_count(any_engine, ask, now):
    grant_role(any_engine, "alice", "octo/models", Role.ADMIN, actor=ROOT, now=now)

    assert ask(github=None) == {"octo/models": Role.ADMIN}


def test_grants_are_listed_revoked_and_audited(any_engine, ask, now):
    grant_role(any_engine, "alice", "octo/models", Role.ADMIN, actor=ROOT, now=now)
    assert [(one.person, one.role) for one in list_grants(any_engine)] == [("alice", Role.ADMIN)]
    revoke_role(any_engine, "alice", "octo/models", actor=ROOT, now=now)

    assert ask() == {}
    assert [(one.action.value, one.actor, one.detail) for one in audit_log(any_engine, most=9)] == [
        ("revoke role", "root", "of alice"),
        ("grant role", "root", "admin to alice"),
    ]
    with pytest.raises(NotFoundError, match="was granted no role in octo/models"):
        revoke_role(any_engine, "alice", "octo/models", actor=ROOT, now=now)


@pytest.mark.parametrize(("name", "repository"), [("bob", "octo/models"), ("alice", "octo/no")])
def test_nobody_and_nothing_get_no_role(any_engine, ask, now, name, repository):
    with pytest.raises(NotFoundError):
        grant_role(any_engine, name, repository, Role.ADMIN, actor=ROOT, now=now)
    assert ask() == {}
