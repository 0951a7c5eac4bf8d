"""`perfledger server person`: lists who signed in, grants roles, and signs people out."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from perfledger_service.errors import NotFoundError
from perfledger_service.usecases.people.sign_in import (
    ProvenAccount,
    SignInOptions,
    session_of,
    start_session,
)
from perfledger_service.values.people.person import PersonProvider

OPTIONS = SignInOptions(idle=timedelta(hours=1), lifetime=timedelta(hours=3))


@pytest.fixture
def server(run, database_url):
    def server(*words):
        return run("server", *words, PERFLEDGER_DATABASE_URL=database_url)

    server("project", "add", "octo/models")
    return server


@pytest.fixture
def alice(engine, server):
    assert server is not None
    account = ProvenAccount(PersonProvider.GITHUB, "7", "alice")
    return start_session(engine, OPTIONS, account, address="", now=datetime.now(UTC))


@pytest.mark.usefixtures("alice")
def test_a_role_is_granted_listed_and_taken_back(server):
    granted = server("person", "grant", "alice", "octo/models", "maintainer")
    assert granted == "alice is maintainer of octo/models.\n"

    listed = json.loads(server("person", "list", "--json"))
    assert listed["people"] == [{"name": "alice", "provider": "github", "subject": "7"}]
    [row] = listed["grants"]
    assert (row["person"], row["repository"], row["role"]) == ("alice", "octo/models", "maintainer")
    assert "maintainer" in server("person", "list")

    revoked = json.loads(server("person", "revoke", "alice", "octo/models", "--json"))
    assert (revoked["person"], revoked["repository"], revoked["role"]) == (
        *("alice", "octo/models"),
        None,
    )
    assert json.loads(server("person", "list", "--json"))["grants"] == []
    with pytest.raises(NotFoundError, match="was granted no role"):
        server("person", "revoke", "alice", "octo/models")


def test_who_has_not_signed_in_gets_no_role(server):
    with pytest.raises(NotFoundError, match="has not signed in yet"):
        server("person", "grant", "mallory", "octo/models", "admin")


def test_all_sessions_of_a_person_end(server, engine, alice):
    assert server("person", "sign-out", "alice") == "1 session of alice ended.\n"
    assert session_of(engine, alice.secret, OPTIONS, now=datetime.now(UTC)) is None
    assert server("person", "sign-out", "alice") == "0 sessions of alice ended.\n"
