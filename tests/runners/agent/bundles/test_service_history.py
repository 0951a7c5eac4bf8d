"""The far end is scripted: what a service may answer to a request for its history."""

import json
from dataclasses import asdict

import pytest

from perfledger.bundle import KnownSpread
from perfledger_runners.bundles.service_history import fetch_history
from perfledger_runners.bundles.service_requests import (
    MAX_ANSWER_BYTES,
    TIMEOUT_S,
    ServiceRequestError,
)
from perfledger_runners.bundles.validation import MAX_SPREADS

TOKEN = "pl_canary_0123456789"
CLASSES = ("cuda:NVIDIA H100 80GB HBM3:1", "cpu:A & B:1")
KNOWN = KnownSpread(
    workload="m:f",
    metric="step_time_p50",
    machine_class=CLASSES[0],
    variance=1e-4,
    degrees=12.0,
    pairs=40,
)
PRIOR = asdict(KNOWN)


class Service:
    """Answers with these bytes, and remembers what it was asked."""

    def __init__(self, answer):
        self.answer = answer
        self.requests = []

    def open(self, fullurl, data=None, timeout=None):
        assert (data, timeout) == (None, TIMEOUT_S)
        self.requests.append(fullurl)
        return self

    def read(self, amount, /):
        return self.answer[:amount]

    def close(self):
        pass


def service_answer(*priors, **values):
    return json.dumps({"history": 7, "priors": priors, **values}).encode()


def ask(answer):
    return fetch_history("https://ledger.example/", TOKEN, CLASSES, opener=Service(answer))


def test_what_the_service_knows_is_understood():
    service_history = ask(service_answer(PRIOR))

    assert service_history.history == 7
    assert service_history.priors == (KNOWN,)


def test_the_question_names_the_classes():
    service = Service(service_answer())

    fetch_history("https://ledger.example/", TOKEN, CLASSES, opener=service)

    (request,) = service.requests
    assert request.full_url == (
        "https://ledger.example/api/v1/priors?machine_class=cuda%3ANVIDIA+H100+80GB+HBM3%3A1"
        "&machine_class=cpu%3AA+%26+B%3A1"
    )


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"<html>", id="a page"),
        pytest.param(b"\xff\xfe", id="no UTF-8"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"priors": []}', id="no number"),
        pytest.param(service_answer(history=-1), id="a number below zero"),
        pytest.param(service_answer(history=1e300), id="a number that is none"),
        pytest.param(service_answer(history=None), id="null"),
        pytest.param(service_answer(PRIOR)[:-9], id="cut short"),
        pytest.param(service_answer(PRIOR | {"variance": "1"}), id="a text"),
        pytest.param(service_answer(PRIOR | {"variance": -1.0}), id="a negative variance"),
        pytest.param(service_answer(PRIOR | {"variance": 1}).replace(b"1,", b"NaN,"), id="NaN"),
        pytest.param(service_answer(PRIOR | {"degrees": 0.0}), id="no degrees"),
        pytest.param(service_answer(PRIOR | {"degrees": 1e9}), id="too many degrees"),
        pytest.param(service_answer(PRIOR | {"pairs": -1}), id="negative pairs"),
        pytest.param(service_answer({"workload": "m:f"}), id="half a prior"),
        pytest.param(service_answer(*[PRIOR] * (MAX_SPREADS + 1)), id="too many"),
    ],
)
def test_an_answer_that_is_no_history_is_an_error(answer):
    with pytest.raises(ServiceRequestError, match="not a history"):
        ask(answer)


def test_an_answer_without_an_end_is_not_read_to_it():
    with pytest.raises(ServiceRequestError, match=f"more than {MAX_ANSWER_BYTES} bytes"):
        ask(b" " * (MAX_ANSWER_BYTES + 2))
