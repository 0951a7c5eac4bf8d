import pytest

from perfledger_service.errors import NotFoundError
from perfledger_service.store.people.persons import person_by_id, person_named, persons
from perfledger_service.values.people.person import PersonProvider


def test_an_account_is_one_person_whatever_its_login(session, add_person):
    before = add_person("alice", subject="7")
    after = add_person("alicia", subject="7")

    assert (after.id, after.login) == (before.id, "alicia")
    assert person_by_id(session, before.id) == after
    assert persons(session) == (after,)


def test_a_login_is_the_accounts_that_signed_in_with_it_last(session, add_person):
    bob, alice = add_person("bob", subject="7"), add_person("alice", subject="8")
    assert person_named(session, "alice") == alice
    renamed = add_person("alice", subject="7")  # 8 has another login now, and has not come since

    assert (renamed.id, person_named(session, "alice")) == (bob.id, renamed)
    assert person_by_id(session, alice.id).login == "account 8"
    add_person("alicia", subject="8")
    assert person_named(session, "alicia").id == alice.id


def test_names_of_a_proxy_are_others(session, add_person):
    at_github = add_person("alice")
    at_proxy = add_person("alice", provider=PersonProvider.PROXY)

    assert person_named(session, "alice") == at_github
    assert person_named(session, "proxy:alice") == at_proxy


@pytest.mark.parametrize("name", ["bob", "proxy:alice", "", "x" * 1000])
def test_who_has_not_signed_in_is_named(session, add_person, name):
    add_person("alice")

    with pytest.raises(NotFoundError, match="has not signed in yet"):
        person_named(session, name)
