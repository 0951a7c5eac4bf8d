"""Which tokens of GitHub Actions runs are believed: every hostile one that the threats name."""

import base64
import hashlib
import hmac
import json
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from urllib3.exceptions import DecodeError, IncompleteRead, ProtocolError

from perfledger_service.errors import GitHubError, RefusedError, SettingsError
from perfledger_service.github import actions_tokens
from perfledger_service.github.actions_tokens import ActionsTokens
from tests.service.servers.actions_issuer import AUDIENCE, Issuer, new_key, serving_issuer


class Clock:
    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def clock(now):
    return Clock(now)


@pytest.fixture
def issuer(now):
    with serving_issuer(Issuer(now)) as issuer:
        yield issuer


@pytest.fixture
def tokens(issuer, clock):
    return ActionsTokens(issuer=issuer.url, audience=AUDIENCE, now=clock)


def refused(tokens, token):
    with pytest.raises(RefusedError) as caught:
        tokens.run_of(token)
    assert caught.value.status == 401
    assert token[-20:] not in str(caught.value)
    return str(caught.value)


def encoded(document):
    return base64.urlsafe_b64encode(json.dumps(document).encode()).rstrip(b"=").decode()


def test_a_runs_token_says_which_run_it_is(tokens, issuer):
    run = tokens.run_of(issuer.token())

    assert (run.repository_id, run.repository_owner_id) == (1296269, 583231)
    assert (run.event_name, run.ref, run.sha) == ("push", "refs/heads/main", "b" * 40)
    assert (run.expires_at - issuer.now).total_seconds() == 300 + 60  # clocks may differ


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"iss": "https://token.actions.example"}, "issuer"),
        ({"iss": None}, "iss"),
        ({"aud": "https://other.example"}, "Audience"),
        ({"aud": f"{AUDIENCE}/"}, "Audience"),
        ({"aud": [AUDIENCE, "https://other.example"]}, "in token"),
        ({"aud": None}, "aud"),
        ({"exp": None}, "exp"),
        ({"nbf": None}, "nbf"),
        ({"iat": None}, "iat"),
        ({"jti": None}, "jti"),
        ({"jti": "x" * 201}, "too long"),
        ({"ref": "x" * 1001}, "too long"),
        ({"exp": "soon"}, "float"),
        ({"exp": float("nan")}, "expired"),
        ({"repository_id": None}, "repository_id"),
        ({"repository_id": "octo/models"}, "repository_id"),
        ({"repository_owner_id": {}}, "repository_owner_id"),
        ({"event_name": None}, "event_name"),
        ({"sha": 7}, "sha"),
    ],
)
def test_claims_that_are_not_exactly_right_are_refused(tokens, issuer, values, reason):
    assert reason in refused(tokens, issuer.token(**values))


def test_a_token_without_a_signature_is_refused(tokens, issuer):
    unsigned = f"{encoded({'alg': 'none', 'kid': 'first'})}.{encoded(issuer.claims())}."

    refused(tokens, unsigned)
    refused(tokens, unsigned + issuer.token().rpartition(".")[2])


def test_a_public_key_is_no_secret_to_sign_with(tokens, issuer):
    public = issuer.keys["first"].public_key()
    for pem in (
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(Encoding.PEM, PublicFormat.PKCS1),
        issuer.document(),
    ):
        signed = f"{encoded({'alg': 'HS256', 'kid': 'first'})}.{encoded(issuer.claims())}"
        digest = hmac.new(pem, signed.encode(), hashlib.sha256).digest()
        signature = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

        refused(tokens, f"{signed}.{signature}")


@pytest.mark.parametrize("algorithm", ["RS384", "RS512", "PS256"])
def test_another_algorithm_is_refused_with_the_right_key_too(tokens, issuer, algorithm):
    refused(tokens, issuer.token(algorithm=algorithm))


def test_a_key_in_the_token_or_behind_its_address_is_not_used(tokens, issuer):
    mine = new_key()
    with serving_issuer(Issuer(issuer.now)) as other:
        headers = {"jku": f"{other.url}/.well-known/jwks", "x5u": other.url}
        refused(tokens, issuer.token(key=mine, headers=headers))

        assert other.requests == []


@pytest.mark.parametrize("name", ["", "x" * 201, "../../first", "other"])
def test_an_unknown_key_is_refused(tokens, issuer, name):
    refused(tokens, issuer.token(headers={"kid": name}))


@pytest.mark.parametrize(
    "token",
    [
        "",
        "..",
        "a.b.c",
        "eyJ.eyJ.x",
        "\x00.\x00.\x00",
        "é.é.é",
        "x" * 16_385,
        f"{'e30' * 5000}.e30.e30",
        f"{encoded([])}.e30.e30",
        f"{encoded({'alg': 'RS256', 'kid': ['first']})}.e30.e30",
        f"{encoded({'alg': 'RS256', 'kid': 'first', 'crit': ['x']})}.e30.e30",
    ],
)
def test_what_is_no_token_is_refused(tokens, token):
    with pytest.raises(RefusedError):
        tokens.run_of(token)


def test_a_changed_claim_or_signature_is_refused(tokens, issuer):
    header, _, signature = issuer.token().split(".")
    other = encoded(issuer.claims(repository_id="1"))

    refused(tokens, f"{header}.{other}.{signature}")
    refused(tokens, issuer.token()[:-8] + "AAAAAAAA")


@pytest.mark.parametrize(
    ("seconds", "is_valid"), [(-61, False), (-60, True), (359, True), (360, False)]
)
def test_clocks_may_differ_by_a_minute(tokens, issuer, clock, seconds, is_valid):
    token = issuer.token()
    clock.now = issuer.now + timedelta(seconds=seconds)

    if is_valid:
        assert tokens.run_of(token).jti == "token-1"
    else:
        assert ("expired" if seconds > 0 else "not valid yet") in refused(tokens, token)


def test_keys_are_asked_once_and_for_a_new_one_again_at_most_once_a_minute(tokens, issuer, clock):
    for _ in range(3):
        tokens.run_of(issuer.token())
    issuer.keys["second"] = new_key()
    rotated = issuer.token(key="second", kid="second")
    refused(tokens, rotated)
    assert len(issuer.requests) == 1

    clock.now += timedelta(minutes=1)
    assert tokens.run_of(rotated).jti == "token-1"
    for number in range(20):
        refused(tokens, issuer.token(headers={"kid": f"made-up-{number}"}))
    assert len(issuer.requests) == 2


def test_a_key_that_github_took_back_is_not_believed_after_an_hour(tokens, issuer, clock):
    tokens.run_of(issuer.token())
    old = issuer.token(exp=int((issuer.now + timedelta(hours=2)).timestamp()))
    issuer.keys = {"second": new_key()}
    clock.now += timedelta(hours=1)

    assert "no key" in refused(tokens, old)


@pytest.mark.parametrize(
    "answer",
    [(500, b"{}"), (302, b"{}"), (200, b"<html>"), (200, b'{"keys": 1}'), (200, b" " * 300_000)],
)
def test_without_the_keys_it_is_nobodys_fault_but_the_issuers(tokens, issuer, clock, answer):
    issuer.answer = answer
    for _ in range(2):
        with pytest.raises(GitHubError, match="cannot be read") as caught:
            tokens.run_of(issuer.token())
        assert caught.value.is_transient
    assert len(issuer.requests) == 1

    issuer.answer = None
    clock.now += timedelta(minutes=1)
    assert tokens.run_of(issuer.token()).jti == "token-1"


@pytest.mark.parametrize(
    "error", [ProtocolError("cut short"), DecodeError("no gzip"), IncompleteRead(1, 2)]
)
def test_an_answer_that_breaks_off_is_the_issuers_fault_too(tokens, issuer, monkeypatch, error):
    def broken(*_):
        raise error

    monkeypatch.setattr(actions_tokens, "_document", broken)

    for _ in range(2):
        with pytest.raises(GitHubError, match="cannot be read"):
            tokens.run_of(issuer.token())


def test_while_keys_are_read_an_unknown_one_is_asked_to_come_again(tokens, issuer, monkeypatch):
    read_document = actions_tokens._document
    messages = []

    def slow(*address):
        with pytest.raises(GitHubError, match="are being read") as caught:  # of another thread
            tokens.run_of(issuer.token())
        messages.append(caught.value.is_transient)
        return read_document(*address)

    monkeypatch.setattr(actions_tokens, "_document", slow)

    assert tokens.run_of(issuer.token()).jti == "token-1"
    assert messages == [True]


def test_an_issuer_that_is_back_is_asked_within_a_minute(tokens, issuer, clock):
    tokens.run_of(issuer.token())
    token = issuer.token(exp=int((issuer.now + timedelta(days=3)).timestamp()))
    issuer.answer = (503, b"")
    clock.now += timedelta(hours=23, minutes=30)
    assert tokens.run_of(token).jti == "token-1"

    issuer.answer = None
    clock.now += timedelta(minutes=31)
    assert tokens.run_of(token).jti == "token-1"


def test_known_keys_serve_for_a_day_while_the_issuer_is_away(tokens, issuer, clock):
    tokens.run_of(issuer.token())
    issuer.answer = (503, b"")
    token = issuer.token(exp=int((issuer.now + timedelta(days=3)).timestamp()))
    clock.now += timedelta(hours=23)
    assert tokens.run_of(token).jti == "token-1"

    clock.now += timedelta(hours=1)
    with pytest.raises(GitHubError, match="cannot be read"):
        tokens.run_of(token)


def test_keys_of_other_kinds_are_left_out(tokens, issuer):
    keys = json.loads(issuer.document())["keys"]
    odd = [{"kid": "secret", "kty": "oct", "k": "AAAA"}, {**keys[0], "kid": "enc", "use": "enc"}]
    issuer.answer = (200, json.dumps({"keys": [*odd, *keys]}).encode())

    assert tokens.run_of(issuer.token()).jti == "token-1"
    refused(tokens, issuer.token(headers={"kid": "enc"}))


@pytest.mark.parametrize("issuer_url", ["http://token.example", "ftp://token.example", "x"])
def test_an_issuer_is_reached_by_https(issuer_url):
    with pytest.raises(SettingsError, match="PERFLEDGER_ACTIONS_ISSUER"):
        ActionsTokens(issuer=issuer_url, audience=AUDIENCE)
