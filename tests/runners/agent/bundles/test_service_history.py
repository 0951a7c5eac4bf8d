"""The far end is scripted: what a service may answer to a request for its history."""

import io
import json
from dataclasses import asdict
from email.message import Message
from http.client import BadStatusLine
from urllib.error import HTTPError, URLError

import pytest

from perfledger.bundle import KnownSpread
from perfledger_runners.bundles.bundle_checks import MAX_SPREADS
from perfledger_runners.bundles.service_history import (
    MAX_ANSWER_BYTES,
    TIMEOUT_S,
    ServiceHistoryError,
    fetch_history,
)

TOKEN = "pl_canary_0123456789"
CLASSES = ("cuda:NVIDIA H100 80GB HBM3:1", "cpu:A & B:1")
KNOWN = KnownSpread(
    workload="m:f",
    metric="step_time_p50",
    device_class=CLASSES[0],
    variance=1e-4,
    degrees=12.0,
    pairs=40,
)
PRIOR = asdict(KNOWN)


class Service:
    """Answers with these bytes, or raises this error, and remembers what it was asked."""

    def __init__(self, answer):
        self.answer = answer
        self.requests = []
        self.is_closed = False

    def open(self, fullurl, data=None, timeout=None):
        assert data is None
        self.requests.append((fullurl, timeout))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self

    def read(self, amount, /):
        return self.answer[:amount]

    def close(self):
        self.is_closed = True


def told(*priors, **values):
    return json.dumps({"history": 7, "priors": priors, **values}).encode()


def ask(answer, url="https://ledger.example/", token=TOKEN):
    return fetch_history(url, token, CLASSES, opener=Service(answer))


def refusal(status):
    return HTTPError("https://ledger.example", status, "no", Message(), io.BytesIO(b"{}"))


def test_what_the_service_knows_is_understood():
    found = ask(told(PRIOR))

    assert found.history == 7
    assert found.priors == (KNOWN,)


def test_the_question_names_the_classes_and_shows_the_token():
    service = Service(told())

    fetch_history("https://ledger.example/", TOKEN, CLASSES, opener=service)

    ((request, timeout),) = service.requests
    assert request.full_url == (
        "https://ledger.example/api/v1/priors?device_class=cuda%3ANVIDIA+H100+80GB+HBM3%3A1"
        "&device_class=cpu%3AA+%26+B%3A1"
    )
    assert request.get_header("Authorization") == f"Bearer {TOKEN}"
    assert request.get_method() == "GET"
    assert timeout == TIMEOUT_S
    assert service.is_closed


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"<html>", id="a page"),
        pytest.param(b"\xff\xfe", id="no UTF-8"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"priors": []}', id="no number"),
        pytest.param(told(history=-1), id="a number below zero"),
        pytest.param(told(history=1e300), id="a number that is none"),
        pytest.param(told(history=None), id="null"),
        pytest.param(told(PRIOR)[:-9], id="cut short"),
        pytest.param(told(PRIOR | {"variance": "1"}), id="a text"),
        pytest.param(told(PRIOR | {"variance": -1.0}), id="a negative variance"),
        pytest.param(told(PRIOR | {"variance": 1}).replace(b"1,", b"NaN,"), id="NaN"),
        pytest.param(told(PRIOR | {"degrees": 0.0}), id="no degrees"),
        pytest.param(told(PRIOR | {"degrees": 1e9}), id="too many degrees"),
        pytest.param(told(PRIOR | {"pairs": -1}), id="negative pairs"),
        pytest.param(told({"workload": "m:f"}), id="half a prior"),
        pytest.param(told(*[PRIOR] * (MAX_SPREADS + 1)), id="too many"),
    ],
)
def test_an_answer_that_is_no_history_is_an_error(answer):
    with pytest.raises(ServiceHistoryError, match="not a history"):
        ask(answer)


def test_an_answer_without_an_end_is_not_read_to_it():
    with pytest.raises(ServiceHistoryError, match=f"more than {MAX_ANSWER_BYTES} bytes"):
        ask(b" " * (MAX_ANSWER_BYTES + 2))


@pytest.mark.parametrize("status", [301, 401, 404, 500, 503])
def test_a_refusal_is_an_error_with_its_status(status):
    with pytest.raises(ServiceHistoryError, match=f"the service answered {status}"):
        ask(refusal(status))


@pytest.mark.parametrize(
    "error", [URLError("refused"), TimeoutError("timed out"), BadStatusLine("?")]
)
def test_no_answer_is_an_error(error):
    with pytest.raises(ServiceHistoryError, match="no answer from the service"):
        ask(error)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"url": "http://ledger.example"}, "not https"),
        ({"url": "https://me:secret@ledger.example"}, "without a name or password"),
        ({"token": ""}, "the upload token is empty"),
        ({"token": "pl\n"}, "the upload token is empty or has characters"),
    ],
)
def test_a_token_goes_nowhere_that_it_must_not(values, complaint):
    with pytest.raises(ServiceHistoryError, match=complaint):
        ask(told(), **values)


@pytest.mark.parametrize("answer", [refusal(401), URLError("refused"), b"no"])
def test_no_message_holds_the_token(answer):
    with pytest.raises(ServiceHistoryError) as caught:
        ask(answer)

    assert TOKEN not in str(caught.value)
