from datetime import timedelta

import pytest

from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_service.errors import GitHubError
from perfledger_service.usecases.people.role_questions import (
    MAX_QUESTIONS,
    LimitedPermissions,
)
from perfledger_service.usecases.people.roles import ROLE_STALE, roles_of
from perfledger_service.values.people.person import Role

SECOND = timedelta(seconds=1)


@pytest.fixture
def moments():
    return [10.0 * SECONDS_PER_HOUR]


@pytest.fixture
def limited(permissions, moments):
    permissions.permissions["octo/models"] = "read"
    permissions.repository_ids["octo/models"] = 41
    limited = LimitedPermissions(permissions, monotonic=lambda: moments[-1])
    for _ in range(MAX_QUESTIONS):
        assert limited.account_permission("octo/models", "alice").permission == "read"
    return limited


def test_github_is_asked_so_often_for_one_person(limited, permissions):
    with pytest.raises(GitHubError, match="asked 200 times in an hour for the roles of alice"):
        limited.account_permission("octo/models", "alice")

    assert len(permissions.questions) == MAX_QUESTIONS
    assert limited.account_permission("octo/models", "bob").permission == "read"
    assert limited.repository_id("octo/models") == 41


def test_in_the_next_hour_it_is_asked_again(limited, moments):
    moments.append(11.0 * SECONDS_PER_HOUR)

    assert limited.account_permission("octo/models", "alice").permission == "read"


def test_who_was_asked_for_too_often_keeps_the_last_roles(
    any_engine, permissions, alice, project_ids, now
):
    permissions.permissions["octo/models"] = "read"
    limited = LimitedPermissions(permissions, monotonic=lambda: 0.0)
    first = roles_of(any_engine, alice, limited, now=now)
    for _ in range(MAX_QUESTIONS - len(permissions.questions)):
        limited.account_permission("octo/models", "alice")
    permissions.permissions["octo/models"] = "none"

    assert first == {project_ids["octo/models"]: Role.VIEWER}
    assert roles_of(any_engine, alice, limited, now=now + ROLE_STALE - SECOND) == first
    assert roles_of(any_engine, alice, limited, now=now + ROLE_STALE) == {}
