from perfledger_service.store.people.roles import (
    RepositoryRole,
    all_grants,
    grant_role,
    granted_roles,
    remove_grant,
    repository_roles,
    save_repository_role,
)
from perfledger_service.values.people.person import ProjectRole, Role


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
