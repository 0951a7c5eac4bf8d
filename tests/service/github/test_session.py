from datetime import UTC, datetime, timedelta

import jwt
import pytest
import requests
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from perfledger_service.errors import SettingsError
from perfledger_service.github.session import (
    CONNECT_TIMEOUT_S,
    READ_TIMEOUT_S,
    app_auth,
    installation_auth,
    new_session,
    token_auth,
)

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def header_of(auth):
    """Return the header that an authentication adds to a request."""
    return str(auth(requests.Request("GET", "http://h").prepare()).headers["Authorization"])


def test_every_request_says_which_version_of_the_api_it_speaks(github, at_github):
    at_github.open_pull()
    github.create_comment("octo/models", 7, "text")

    versions = {request["api_version"] for request in at_github.server.state.requests}
    assert versions == {"2022-11-28"}


def test_no_request_waits_for_ever():
    class Recorder(requests.adapters.HTTPAdapter):
        """Remembers the time limits of the requests and answers none."""

        def __init__(self):
            super().__init__()
            self.limits = []

        def send(self, *_, **options):
            self.limits.append(options["timeout"])
            raise requests.ConnectionError

    session, recorder = new_session(), Recorder()
    session.mount("http://", recorder)

    with pytest.raises(requests.ConnectionError):
        session.request("GET", "http://h/")
    assert recorder.limits == [(CONNECT_TIMEOUT_S, READ_TIMEOUT_S)]


def test_the_apps_own_token_is_short_and_its_issuer_a_text():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    scheme, _, token = header_of(app_auth("123", pem, now=NOW)).partition(" ")
    claims = jwt.decode(
        token,
        key.public_key(),
        algorithms=["RS256"],
        options={"verify_exp": False, "verify_iat": False},
    )

    assert scheme == "Bearer"
    assert claims == {
        "iss": "123",
        "iat": int(NOW.timestamp()) - 60,  # GitHub's clock may be behind
        "exp": int(NOW.timestamp()) + 300,
    }


@pytest.mark.parametrize("pem", ["", "no key", "-----BEGIN RSA PRIVATE KEY-----\nxx"])
def test_a_key_that_is_none_is_our_error_and_is_not_shown(pem):
    with pytest.raises(SettingsError, match="not an RSA private key in PEM") as caught:
        app_auth("123", pem, now=NOW)
    assert "xx" not in str(caught.value)


def test_a_token_and_an_installations_token_are_sent_as_github_takes_them():
    expires_at = datetime.now(UTC) + timedelta(hours=1)

    assert header_of(token_auth("ghp_x")) == "token ghp_x"
    assert header_of(installation_auth("ghs_x", expires_at)) == "token ghs_x"
