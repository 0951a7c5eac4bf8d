import pytest

from perfledger_service.values.people.person import Person, PersonProvider, Role


@pytest.mark.parametrize(
    ("held_role", "included"),
    [
        (Role.VIEWER, {Role.VIEWER}),
        (Role.MAINTAINER, {Role.VIEWER, Role.MAINTAINER}),
        (Role.ADMIN, set(Role)),
    ],
)
def test_a_role_includes_those_before_it(held_role, included):
    assert {role for role in Role if held_role.includes(role)} == included


def test_people_of_a_proxy_are_told_from_those_of_github():
    names = [
        Person(id=1, provider=provider, subject="7", login="alice").name
        for provider in PersonProvider
    ]

    assert names == ["alice", "proxy:alice"]
