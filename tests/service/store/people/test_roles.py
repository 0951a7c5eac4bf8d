import threading
from concurrent.futures import ThreadPoolExecutor

from perfledger_service.store.database import write_session
from perfledger_service.store.people.persons import person_for
from perfledger_service.store.people.roles import (
    RepositoryRole,
    all_grants,
    grant_role,
    granted_roles,
    remove_grant,
    repository_roles,
    save_repository_role,
)
from perfledger_service.store.projects import project_for
from perfledger_service.values.people.person import PersonProvider, ProjectRole, Role


def test_what_github_said_last_is_kept(session, add_person, project, now):
    alice = add_person("alice")
    for role in (Role.ADMIN, None):
        answer = RepositoryRole(project_id=project.id, role=role, asked_at=now, checked_at=now)
        save_repository_role(session, alice.id, answer)
        assert repository_roles(session, alice.id) == {project.id: answer}

    assert repository_roles(session, add_person("bob").id) == {}


def test_a_grant_replaces_the_one_before_and_is_taken_back_once(session, add_person, project, now):
    alice = add_person("alice")
    for role in (Role.ADMIN, Role.VIEWER):
        grant_role(session, alice, project.id, role, by="root", now=now)

    assert granted_roles(session, alice.id) == {project.id: Role.VIEWER}
    assert all_grants(session) == (
        ProjectRole(
            person="alice",
            repository="octo/models",
            role=Role.VIEWER,
            granted_by="root",
            granted_at=now,
        ),
    )
    assert [remove_grant(session, alice, project.id) for _ in range(2)] == [True, False]
    assert granted_roles(session, alice.id) == {}


def test_two_grants_at_once_leave_one_of_them(any_engine, now):
    """Both begin while there is none; on PostgreSQL the second waits at the first one's row."""
    with write_session(any_engine) as session:
        alice = person_for(session, PersonProvider.GITHUB, "7", login="alice", now=now)
        project_id = project_for(session, "octo/models", now=now).id
        session.commit()
    barrier = threading.Barrier(2)

    def grant(role):
        barrier.wait()
        with write_session(any_engine) as session:
            grant_role(session, alice, project_id, role, by="root", now=now)
            session.commit()

    for _ in range(5):
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(grant, (Role.ADMIN, Role.VIEWER)))
        with write_session(any_engine) as session:
            assert remove_grant(session, alice, project_id)
            session.commit()
