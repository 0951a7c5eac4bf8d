from datetime import timedelta

from perfledger_service.store.people.audit import add_audit_entry, audit_entries
from perfledger_service.values.people.person import Actor, AuditAction, AuditEntry
from perfledger_service.values.service_views.admin import AuditFilter


def test_entries_are_read_newest_first_of_all_or_of_one_project(session, project, now):
    alice = Actor(name="alice", account="7", address="192.0.2.7")
    add_audit_entry(session, AuditAction.SIGN_IN, alice, now=now)
    add_audit_entry(
        session, AuditAction.SET_EVENT, alice, project_id=project.id, detail="event 1", now=now
    )

    newest, first = audit_entries(session, most=9)
    assert (first.repository, first.detail) == (None, "")
    assert newest == AuditEntry(
        id=newest.id,
        noted_at=now,
        actor="alice",
        account="7",
        action=AuditAction.SET_EVENT,
        repository="octo/models",
        detail="event 1",
        address="192.0.2.7",
    )
    assert audit_entries(session, most=1) == (newest,)
    assert first.id < newest.id


def test_a_filter_is_of_all_that_it_names(session, project, now):
    alice, bob = Actor(name="alice"), Actor(name="bob")
    add_audit_entry(session, AuditAction.SIGN_IN, alice, now=now)
    add_audit_entry(session, AuditAction.SET_EVENT, alice, project_id=project.id, now=now)
    later = now + timedelta(days=1)
    add_audit_entry(session, AuditAction.SET_EVENT, bob, project_id=project.id, now=later)
    chosen = {
        "": [3, 2, 1],
        "alice": [2, 1],
        "set event": [3, 2],
        "octo/models": [3, 2],
        "octo/none": [],
        "later": [3],
        "earlier": [2, 1],
        "before 2": [1],
        "alice's events": [2],
    }
    filters = {
        "": AuditFilter(),
        "alice": AuditFilter(actor="alice"),
        "set event": AuditFilter(action=AuditAction.SET_EVENT),
        "octo/models": AuditFilter(repository="Octo/Models"),
        "octo/none": AuditFilter(repository="octo/none"),
        "later": AuditFilter(since=later),
        "earlier": AuditFilter(until=later),
        "before 2": AuditFilter(before=2),
        "alice's events": AuditFilter(actor="alice", action=AuditAction.SET_EVENT),
    }

    assert {
        name: [one.id for one in audit_entries(session, chosen=one, most=9)]
        for name, one in filters.items()
    } == chosen
