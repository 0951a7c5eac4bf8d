"""Former names of projects, on SQLite and PostgreSQL."""

from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.former_names import is_former_name
from perfledger_service.store.projects import project_by_id, project_for, rename_project


def rename(engine, project_id, name):
    with write_session(engine) as session:
        rename_project(session, project_by_id(session, project_id), name)
        session.commit()


def test_a_former_name_is_the_projects_that_had_it_last_until_another_has_it(any_engine, now):
    with write_session(any_engine) as session:
        one = project_for(session, "Octo/Models", now=now).id
        two = project_for(session, "octo/other", now=now).id
        session.commit()
    rename(any_engine, one, "octo/New")
    rename(any_engine, one, "OCTO/new")

    with read_session(any_engine) as session:
        assert is_former_name(session, one, "octo/MODELS")
        assert not is_former_name(session, two, "octo/models")
        assert not is_former_name(session, one, "octo/new")
    rename(any_engine, two, "octo/models")
    with read_session(any_engine) as session:
        assert not is_former_name(session, one, "octo/models")
    rename(any_engine, two, "octo/third")
    with read_session(any_engine) as session:
        assert not is_former_name(session, one, "octo/models")
        assert is_former_name(session, two, "octo/models")
        assert is_former_name(session, two, "octo/other")
