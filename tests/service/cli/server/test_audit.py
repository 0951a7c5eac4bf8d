"""`perfledger server audit`: lists what people did."""

import json

import pytest

from perfledger_service.errors import NotFoundError
from perfledger_service.store.database import write_session
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.values.people.person import Actor, AuditAction


@pytest.fixture
def audit(run, database_url, engine, now):
    run("server", "project", "add", "octo/models", PERFLEDGER_DATABASE_URL=database_url)
    with write_session(engine) as session:
        alice = Actor(name="alice", account="7", address="192.0.2.7")
        add_audit_entry(session, AuditAction.SIGN_IN, alice, now=now)
        detail = "event 1 to open: \x1b[31mlook"
        add_audit_entry(session, AuditAction.SET_EVENT, alice, project_id=1, detail=detail, now=now)
        session.commit()

    def audit(*words):
        return run("server", "audit", *words, PERFLEDGER_DATABASE_URL=database_url)

    return audit


def test_what_people_did_is_listed_newest_first(audit):
    newest, second, first = json.loads(audit("--json"))["entries"]

    assert (newest["repository"], newest["action"]) == ("octo/models", "set event")
    assert (second["repository"], second["actor"], second["address"]) == ("", "alice", "192.0.2.7")
    assert [one["account"] for one in (newest, second, first)] == ["7", "7", ""]
    assert (first["action"], first["address"]) == ("make token", "")
    output = audit()
    assert "set event" in output
    assert "\x1b[31m" not in output


def test_entries_of_one_project_and_of_a_number_are_listed(audit):
    assert len(json.loads(audit("--repository", "Octo/Models", "--json"))["entries"]) == 2
    assert len(json.loads(audit("--most", "1", "--json"))["entries"]) == 1
    with pytest.raises(NotFoundError):
        audit("--repository", "octo/nothing")
