import pytest

from perfledger_service.errors import GitHubError
from perfledger_service.github.account_permissions import AccountPermission
from perfledger_service.store.database import write_session
from perfledger_service.store.people.persons import person_for
from perfledger_service.usecases.server.project import add_project
from perfledger_service.values.people.person import PersonProvider


class FakePermissions:
    """Answers like GitHub, remembers what it was asked, and fails when it is told to."""

    def __init__(self):
        self.permissions = {}
        self.account_id = 7
        self.repository_ids = {}
        self.failure = None
        self.questions = []

    def account_permission(self, repository, login):
        self.questions.append(f"{repository} {login}")
        if self.failure is not None:
            raise self.failure
        permission = self.permissions.get(repository, "none")
        return AccountPermission(permission=permission, account_id=self.account_id)

    def repository_id(self, repository):
        return self.repository_ids[repository]

    def fail(self, *, status=None):
        self.failure = GitHubError("no answer", github_status=status, is_transient=True)


@pytest.fixture
def permissions():
    return FakePermissions()


@pytest.fixture
def project_ids(any_engine, now):
    """Add two projects and return their numbers."""
    for number, repository in enumerate(("octo/models", "octo/other")):
        add_project(any_engine, repository, token=f"pl_{number:08}_{'s' * 43}", now=now)
    return {"octo/models": 1, "octo/other": 2}


@pytest.fixture
def alice(any_engine, now):
    with write_session(any_engine) as session:
        person = person_for(session, PersonProvider.GITHUB, "7", login="alice", now=now)
        session.commit()
    return person


@pytest.fixture
def alice_of_proxy(any_engine, now):
    with write_session(any_engine) as session:
        person = person_for(session, PersonProvider.PROXY, "alice", login="alice", now=now)
        session.commit()
    return person
