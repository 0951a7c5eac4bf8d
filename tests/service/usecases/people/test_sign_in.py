from base64 import urlsafe_b64encode
from datetime import timedelta
from hashlib import sha256

import pytest
from hypothesis import given, strategies as st

from perfledger_service.errors import NotFoundError, RefusedError
from perfledger_service.github.sign_in import SignedInAccount
from perfledger_service.usecases.people.sign_in import (
    ATTEMPT_LIFETIME,
    SEEN_STEP,
    ProvenAccount,
    SignInOptions,
    begin_sign_in,
    finish_sign_in,
    list_persons,
    local_path,
    session_of,
    sign_out,
    sign_out_everywhere,
    start_session,
)
from perfledger_service.values.people.person import Actor, PersonProvider

OPTIONS = SignInOptions(idle=timedelta(hours=1), lifetime=timedelta(hours=3))
ALICE = ProvenAccount(PersonProvider.GITHUB, "7", "alice")


class Provider:
    """Takes any code of the browser that it was sent to, by the challenge."""

    def authorize_url(self, *, state, challenge):
        self.state, self.challenge = state, challenge
        return f"https://github.example/?state={state}"

    def account(self, code, *, verifier):
        assert code == "c"
        digest = sha256(verifier.encode()).digest()
        assert urlsafe_b64encode(digest).decode().rstrip("=") == self.challenge
        return SignedInAccount(7, "alice")

    def close(self):
        pass


@pytest.fixture
def provider():
    return Provider()


@pytest.fixture
def begun(engine, provider, now):
    return begin_sign_in(engine, provider, next_path="/octo/models", now=now)


@pytest.fixture
def finish(engine, provider, begun, now):
    def finish(*, after=timedelta(0), **values):
        defaults = {"state": provider.state, "code": "c", "browser_secret": begun.browser_secret}
        return finish_sign_in(engine, provider, **defaults | values, now=now + after)

    return finish


@pytest.fixture
def start(engine, now):
    def start(account=ALICE, *, at=now, **values):
        return start_session(engine, OPTIONS, account, address="192.0.2.7", now=at, **values)

    return start


def test_a_browser_comes_back_with_its_account_and_page(finish):
    assert finish() == (ALICE, "/octo/models")


def test_secrets_of_two_sign_ins_differ(engine, provider, begun, now):
    first = (begun.browser_secret, provider.state, provider.challenge)
    second_attempt = begin_sign_in(engine, provider, next_path="/", now=now)
    second = (second_attempt.browser_secret, provider.state, provider.challenge)

    assert set(first).isdisjoint(second)
    assert all(len(secret) >= 43 for secret in first)


@pytest.mark.parametrize(
    "values",
    [
        {"state": ""},
        {"state": "forged"},
        {"state": "\ud800"},
        {"browser_secret": ""},
        {"browser_secret": "another"},
        {"after": ATTEMPT_LIFETIME},
    ],
)
def test_a_forged_foreign_or_old_sign_in_is_refused(finish, values):
    with pytest.raises(RefusedError, match="sign in again"):
        finish(**values)


def test_after_a_refusal_the_state_is_used_up(finish):
    with pytest.raises(RefusedError):
        finish(browser_secret="another")
    with pytest.raises(RefusedError):
        finish()


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


@given(st.text(alphabet="/\\ab.:@?#%\t\r\n\0 é-", max_size=12))
def test_a_page_to_go_to_is_always_on_this_site(text):
    path = local_path(text)

    assert path in {"/", text}
    assert path.startswith("/")
    assert not path.startswith(("//", "/\\"))
    assert path.isprintable()
    assert "\\" not in path


@pytest.mark.parametrize("path", ["/", "/octo/models?a=1&b=%2F", "/runs/1#plots", "/a//b"])
def test_a_page_of_this_site_is_kept(path):
    assert local_path(path) == path
