from perfledger_service.store.people.audit import add_audit_entry, audit_entries
from perfledger_service.values.people.person import Actor, AuditAction, AuditEntry


def test_entries_are_read_newest_first_of_all_or_of_one_project(session, project, now):
    alice = Actor(name="alice", address="192.0.2.7")
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
        action=AuditAction.SET_EVENT,
        repository="octo/models",
        detail="event 1",
        address="192.0.2.7",
    )
    assert audit_entries(session, project_id=project.id, most=9) == (newest,)
    assert audit_entries(session, most=1) == (newest,)
    assert audit_entries(session, project_id=project.id + 1, most=9) == ()
