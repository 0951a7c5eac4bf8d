"""A database before people, upgraded: tokens stay their projects'."""

from datetime import UTC, datetime

from sqlalchemy import MetaData

from perfledger_service.store.database import read_session
from perfledger_service.store.projects import token_of_prefix
from perfledger_service.store.upgrade import upgrade

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_tokens_from_before_are_of_no_person(empty_engine, upgrade_to):
    upgrade_to("0021")
    tables = MetaData()
    tables.reflect(empty_engine)
    project = {"id": 1, "repository": "octo/m", "repository_key": "octo/m", "created_at": NOON}
    project |= {"trust_runners": False, "actions_branch": ""}
    token = {"project_id": 1, "prefix": "pl_0123abcd", "sha256": "x", "created_at": NOON}
    with empty_engine.begin() as connection:
        connection.execute(tables.tables["project"].insert(), project)
        connection.execute(tables.tables["token"].insert(), token | {"scope": "read"})

    upgrade(empty_engine.url.render_as_string(hide_password=False))

    with read_session(empty_engine) as session:
        stored = token_of_prefix(session, "pl_0123abcd")
    assert stored is not None
    assert (stored.scope, stored.person_id, stored.project.id) == ("read", None, 1)
