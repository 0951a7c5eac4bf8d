from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import timedelta
from hashlib import sha256

import pytest
from hypothesis import given, strategies as st

from perfledger_service.errors import RefusedError
from perfledger_service.github.sign_in import SignedInAccount
from perfledger_service.usecases.people.sign_in import ProvenAccount
from perfledger_service.usecases.people.sign_in_attempts import (
    ATTEMPT_LIFETIME,
    MAX_NEXT_PATH,
    MAX_STATE,
    begin_sign_in,
    finish_sign_in,
    local_path,
)
from perfledger_service.values.people.person import PersonProvider

ALICE = ProvenAccount(PersonProvider.GITHUB, "7", "alice")


class Provider:
    """Takes any code of the browser that it was sent to, by the challenge."""

    seal_key = b"k" * 32

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
def begun(provider, now):
    return begin_sign_in(provider, next_path="/octo/models", now=now)


@pytest.fixture
def finish(provider, begun, now):
    def finish(*, after=timedelta(0), **values):
        defaults = {"state": provider.state, "code": "c", "browser_secret": begun.browser_secret}
        return finish_sign_in(provider, **defaults | values, now=now + after)

    return finish


def test_a_browser_comes_back_with_its_account_and_page(finish):
    assert finish() == (ALICE, "/octo/models")


def test_secrets_of_two_sign_ins_differ(provider, begun, now):
    first = (begun.browser_secret, provider.state, provider.challenge)
    second_attempt = begin_sign_in(provider, next_path="/", now=now)
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
        {"state": "a" * 5000},
        {"after": ATTEMPT_LIFETIME},
        {"after": -ATTEMPT_LIFETIME},
    ],
)
def test_a_forged_foreign_or_old_sign_in_is_refused(finish, values):
    with pytest.raises(RefusedError, match="sign in again"):
        finish(**values)


def test_a_state_cannot_be_changed_anywhere(finish, begun):
    state = begun.state
    for place in range(0, len(state), 7):
        changed = "A" if state[place] != "A" else "B"
        with pytest.raises(RefusedError):
            finish(state=state[:place] + changed + state[place + 1 :])


def test_a_state_of_another_key_is_refused(finish, provider):
    provider.seal_key = b"K" * 32
    with pytest.raises(RefusedError):
        finish()


def test_a_state_hides_the_page_and_the_secret(begun):
    opened = urlsafe_b64decode(begun.state)

    assert b"octo" not in opened
    assert sha256(begun.browser_secret.encode()).digest() not in opened


def test_the_longest_path_fits_a_state_and_none_is_longer(provider, now):
    path = "/" + "a" * (MAX_NEXT_PATH - 1)
    longest, longer = (
        begin_sign_in(provider, next_path=one, now=now) for one in (path, f"{path}a")
    )

    assert len(longest.state) == 2808 < MAX_STATE
    assert len(longer.state) < 200


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
