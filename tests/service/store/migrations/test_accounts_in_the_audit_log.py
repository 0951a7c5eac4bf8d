"""A database before accounts in the audit log, upgraded: what is there is kept."""

from datetime import UTC, datetime

from sqlalchemy import MetaData, inspect

from perfledger_service.store.database import read_session
from perfledger_service.store.events.events import DueSearch, due_searches
from perfledger_service.store.people.audit import audit_entries
from perfledger_service.store.upgrade import upgrade

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_entries_have_no_account_and_histories_are_searched_again(empty_engine, upgrade_to):
    upgrade_to("0027")
    tables = MetaData()
    tables.reflect(empty_engine)
    project = {"id": 1, "repository": "octo/m", "repository_key": "octo/m", "created_at": NOON}
    project |= {"trust_runners": False, "actions_branch": ""}
    entry = {"noted_at": NOON, "actor": "alice", "action": "sign in", "detail": "", "address": ""}
    search = {"project_id": 1, "changes": 3, "searched": 3, "content": b"an older one"}
    with empty_engine.begin() as connection:
        connection.execute(tables.tables["project"].insert(), project)
        connection.execute(tables.tables["audit_entry"].insert(), entry)
        connection.execute(tables.tables["event_search"].insert(), search)

    upgrade(empty_engine.url.render_as_string(hide_password=False))

    with read_session(empty_engine) as session:
        [stored] = audit_entries(session, most=9)
        assert (stored.actor, stored.account) == ("alice", "")
        assert due_searches(session, today=NOON.date()) == (DueSearch(1, 3, 3),)
    assert "sign_in_attempt" not in inspect(empty_engine).get_table_names()
