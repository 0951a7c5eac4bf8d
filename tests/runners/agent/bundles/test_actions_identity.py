"""The far end is scripted: what GitHub may answer to a job that asks for its token."""

import io
import json
from email.message import Message
from urllib.error import HTTPError, URLError

import pytest

from perfledger_runners.bundles.actions_identity import ActionsIdentity
from perfledger_runners.bundles.service_requests import TIMEOUT_S, ServiceRequestError

URL = "https://pipelines.example/token?api-version=2.0"
SECRET = "canary-secret"
SERVICE = "https://ledger.example/"


class GitHub:
    """Answers with these bytes, or raises this error, and remembers what it was asked."""

    def __init__(self, answer):
        self.answer = answer
        self.requests = []

    def open(self, fullurl, data=None, timeout=None):
        assert (data, timeout) == (None, TIMEOUT_S)
        self.requests.append(fullurl)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self

    def read(self, amount, /):
        return self.answer[:amount]

    def close(self):
        pass


def ask(answer, url=URL):
    github = GitHub(answer)
    return ActionsIdentity(url, SECRET).token_for(SERVICE, opener=github), github.requests


def test_the_token_is_for_the_service_alone():
    token, (request,) = ask(json.dumps({"value": "eyJ.a.b"}).encode())

    assert token == "eyJ.a.b"
    assert request.full_url == f"{URL}&audience=https%3A%2F%2Fledger.example"
    assert request.get_header("Authorization") == f"Bearer {SECRET}"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"<html>",
        b"\xff",
        b"[" * 60_000,
        b'{"value": 1}',
        HTTPError(URL, 403, "no", Message(), io.BytesIO(b"")),
        URLError("refused"),
        TimeoutError("slow"),
    ],
)
def test_without_a_token_there_is_an_error_that_holds_no_secret(answer):
    with pytest.raises(ServiceRequestError, match="GitHub gave the run no token") as caught:
        ask(answer)
    assert SECRET not in str(caught.value)


def test_the_secret_travels_by_https_only_and_is_not_shown():
    with pytest.raises(ServiceRequestError, match="not https"):
        ask(b"{}", url="http://pipelines.example/token?x=1")
    assert SECRET not in repr(ActionsIdentity(URL, SECRET))
