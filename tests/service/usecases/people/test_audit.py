import pytest

from perfledger_service.errors import NotFoundError
from perfledger_service.store.database import write_session
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.usecases.people.audit import audit_log
from perfledger_service.values.people.person import Actor, AuditAction


def test_the_log_is_of_all_or_of_one_project(engine, now):
    with write_session(engine) as session:
        add_audit_entry(session, AuditAction.SIGN_IN, Actor(name="alice"), now=now)
        session.commit()

    assert [one.actor for one in audit_log(engine, most=9)] == ["alice"]
    with pytest.raises(NotFoundError):
        audit_log(engine, repository="octo/models", most=9)
