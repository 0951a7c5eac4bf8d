import json
from datetime import timedelta

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from perfledger_service.errors import RefusedError
from perfledger_service.github.signed_tokens import (
    key_id,
    public_keys,
    refuse,
    sign_app_token,
    verified_claims,
)
from tests.service.servers.actions_issuer import AUDIENCE, Issuer, new_key


@pytest.fixture
def issuer(now):
    return Issuer(now)


def test_a_token_is_verified_by_the_key_that_it_names(issuer, now):
    token = issuer.token(iss="https://issuer.example")

    key = public_keys(issuer.document())[key_id(token)]
    claims = verified_claims(
        token, key, issuer="https://issuer.example", audience=AUDIENCE, now=now
    )

    assert claims["repository_id"] == "1296269"


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[]",
        b'{"keys": {}}',
        b'{"keys": [{}]}',
        b'{"keys": [{"kid": "a", "kty": "RSA"}]}',
        b'{"keys": [{"kid": "a", "kty": "RSA", "n": "AQAB", "e": "!"}]}',
        b"\xff",
        b'{"keys": ' + b"[" * 100_000,
    ],
)
def test_what_is_no_set_of_keys_is_an_error(document):
    with pytest.raises(ValueError, match="not a set of keys"):
        public_keys(document)


def test_a_key_of_another_kind_is_left_out(issuer):
    document = json.loads(issuer.document())
    document["keys"].append({"kid": "x", "kty": "EC", "crv": "P-256"})

    assert list(public_keys(json.dumps(document).encode())) == ["first"]


def test_an_apps_token_is_dated_back_and_short(now):
    key = new_key()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    token = sign_app_token("12", pem, lifetime=timedelta(minutes=5), now=now)

    claims = jwt.decode(
        token,
        key.public_key(),
        algorithms=["RS256"],
        options={"verify_exp": False, "verify_iat": False},
    )
    assert claims["exp"] - claims["iat"] == 360
    assert claims["iat"] == int(now.timestamp()) - 60


def test_a_refusal_is_no_permission():
    with pytest.raises(RefusedError, match="is not valid: it is green") as caught:
        refuse("it is green")
    assert caught.value.status == 401
