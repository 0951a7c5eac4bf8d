from datetime import timedelta

import pytest

from perfledger_service.errors import NotFoundError
from perfledger_service.usecases.people.sign_in import (
    SEEN_STEP,
    ProvenAccount,
    SignInOptions,
    list_persons,
    session_of,
    sign_out,
    sign_out_everywhere,
    start_session,
)
from perfledger_service.values.people.person import Actor, PersonProvider

OPTIONS = SignInOptions(idle=timedelta(hours=1), lifetime=timedelta(hours=3))
ALICE = ProvenAccount(PersonProvider.GITHUB, "7", "alice")


@pytest.fixture
def start(engine, now):
    def start(account=ALICE, *, at=now, **values):
        return start_session(engine, OPTIONS, account, address="192.0.2.7", now=at, **values)

    return start


def test_a_session_is_of_its_person_and_each_has_new_secrets(engine, start, now):
    first, second = start(), start()

    assert first.secret != second.secret
    assert first.form_token != second.form_token
    assert first.secret not in first.form_token
    assert session_of(engine, first.secret, OPTIONS, now=now) == first
    assert session_of(engine, first.secret[:-1], OPTIONS, now=now) is None


def test_a_new_session_ends_the_browsers_earlier_one(engine, start, now):
    first = start()
    start(replaced_secret=first.secret)

    assert session_of(engine, first.secret, OPTIONS, now=now) is None


@pytest.mark.parametrize(("pause", "uses"), [(timedelta(hours=1), 0), (timedelta(minutes=59), 3)])
def test_a_session_ends_unused_or_after_its_lifetime(engine, start, now, pause, uses):
    secret = start().secret
    checks = [
        session_of(engine, secret, OPTIONS, now=now + pause * number) is not None
        for number in range(1, 6)
    ]

    assert checks == [True] * uses + [False] * (5 - uses)


def test_a_session_in_use_is_written_once_a_minute(engine, start, now):
    secret = start().secret
    session_of(engine, secret, OPTIONS, now=now + SEEN_STEP - timedelta(seconds=1))
    idle_end = now + OPTIONS.idle
    assert session_of(engine, secret, OPTIONS, now=idle_end) is None

    secret = start().secret
    session_of(engine, secret, OPTIONS, now=now + SEEN_STEP)
    assert session_of(engine, secret, OPTIONS, now=idle_end) is not None


def test_one_browser_or_all_are_signed_out(engine, start, now):
    first, second, third = start(), start(), start()
    sign_out(engine, first, address="192.0.2.7", now=now)
    live = [session_of(engine, one.secret, OPTIONS, now=now) for one in (first, second, third)]
    assert [one is not None for one in live] == [False, True, True]

    assert sign_out_everywhere(engine, "alice", actor=Actor(name="root"), now=now) == 2
    assert session_of(engine, second.secret, OPTIONS, now=now) is None
    assert [one.name for one in list_persons(engine)] == ["alice"]
    with pytest.raises(NotFoundError):
        sign_out_everywhere(engine, "bob", actor=Actor(name="root"), now=now)


def test_a_renamed_account_keeps_its_person(engine, start, now):
    before = start()
    after = start(ProvenAccount(PersonProvider.GITHUB, "7", "alicia"))

    assert after.person.id == before.person.id
    session = session_of(engine, before.secret, OPTIONS, now=now)
    assert session is not None
    assert session.person.login == "alicia"
