"""The far end is scripted: what a service may do with a small request."""

import io
import json
from email.message import Message
from http.client import BadStatusLine
from urllib.error import HTTPError, URLError

import pytest

from perfledger_runners.bundles.service_requests import (
    TIMEOUT_S,
    ServiceRequestError,
    request_service,
)

TOKEN = "pl_canary_0123456789"
URL = "https://ledger.example/"


class Service:
    """Answers with these bytes, or raises this error, and remembers what it was asked."""

    def __init__(self, answer=b"{}"):
        self.answer = answer
        self.requests = []
        self.is_closed = False

    def open(self, fullurl, data=None, timeout=None):
        assert data is None  # it is in the request
        self.requests.append((fullurl, timeout))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self

    def read(self, amount, /):
        return self.answer[:amount]

    def close(self):
        self.is_closed = True


def ask(answer, url=URL, token=TOKEN):
    return request_service(url, token, "/api/v1/priors", opener=Service(answer))


def refusal(status):
    return HTTPError(URL, status, "no", Message(), io.BytesIO(b"{}"))


def test_a_question_shows_the_token_and_is_asked_once():
    service = Service(b"yes")

    assert request_service(URL, TOKEN, "/api/v1/priors", opener=service) == b"yes"

    ((request, timeout),) = service.requests
    assert request.full_url == "https://ledger.example/api/v1/priors"
    assert request.get_header("Authorization") == f"Bearer {TOKEN}"
    assert request.get_method() == "GET"
    assert timeout == TIMEOUT_S
    assert service.is_closed


def test_a_document_is_posted_as_json():
    service = Service()

    request_service(URL, TOKEN, "/api/v1/checks", document={"head_sha": "a"}, opener=service)

    ((request, _),) = service.requests
    assert request.get_method() == "POST"
    assert request.get_header("Content-type") == "application/json"
    assert json.loads(request.data) == {"head_sha": "a"}


@pytest.mark.parametrize("status", [301, 401, 404, 500, 503])
def test_a_refusal_is_an_error_with_its_status(status):
    with pytest.raises(ServiceRequestError, match=f"the service answered {status}"):
        ask(refusal(status))


@pytest.mark.parametrize(
    "error", [URLError("refused"), TimeoutError("timed out"), BadStatusLine("?")]
)
def test_no_answer_is_an_error(error):
    with pytest.raises(ServiceRequestError, match="no answer from the service"):
        ask(error)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"url": "http://ledger.example"}, "not https"),
        ({"url": "https://me:secret@ledger.example"}, "without a name or password"),
        ({"token": ""}, "the upload token is empty"),
        ({"token": "pl\n"}, "the upload token is empty or contains invalid characters"),
    ],
)
def test_a_token_goes_nowhere_that_it_must_not(values, complaint):
    with pytest.raises(ServiceRequestError, match=complaint):
        ask(b"{}", **values)


@pytest.mark.parametrize("answer", [refusal(401), URLError("refused")])
def test_no_message_holds_the_token(answer):
    with pytest.raises(ServiceRequestError) as caught:
        ask(answer)

    assert TOKEN not in str(caught.value)
