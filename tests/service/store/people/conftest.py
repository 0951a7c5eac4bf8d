import pytest

from perfledger_service.store.database import write_session
from perfledger_service.store.people.persons import person_for
from perfledger_service.store.projects import project_for
from perfledger_service.values.people.person import PersonProvider


@pytest.fixture
def session(any_engine):
    with write_session(any_engine) as session:
        yield session


@pytest.fixture
def add_person(session, now):
    def add(login, *, subject=None, provider=PersonProvider.GITHUB):
        return person_for(session, provider, subject or f"id of {login}", login=login, now=now)

    return add


@pytest.fixture
def project(session, now):
    return project_for(session, "octo/models", now=now)
