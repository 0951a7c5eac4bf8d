from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.security import HTTPAuthorizationCredentials
from pydantic import SecretStr
from starlette.requests import Request

from perfledger_service.errors import RefusedError
from perfledger_service.web.sign_in.metrics_readers import metrics_reader


def state_with(token) -> Any:
    """Return the part of an application's state that is read here."""
    return SimpleNamespace(metrics_token=None if token is None else SecretStr(token))


def request(*, peer="127.0.0.1", host="localhost:8765", **headers):
    named = {"host": host} | {name.replace("_", "-"): value for name, value in headers.items()}
    return Request(
        {
            "type": "http",
            "scheme": "http",
            "path": "/metrics",
            "query_string": b"",
            "server": ("127.0.0.1", 8765),
            "client": peer and (peer, 1),
            "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        }
    )


def may_read(request, *, token=None, sent=None):
    credentials = sent and HTTPAuthorizationCredentials(scheme="Bearer", credentials=sent)
    try:
        metrics_reader(request, state_with(token), credentials)
    except RefusedError:
        return False
    return True


def test_whoever_may_not_read_gets_401():
    with pytest.raises(RefusedError, match="PERFLEDGER_METRICS_TOKEN") as caught:
        metrics_reader(request(peer="192.0.2.7"), state_with(None), None)

    assert caught.value.status == 401


@pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1:8765", "[::1]:8765"])
def test_a_program_on_this_machine_may_read(host):
    assert may_read(request(host=host))
    assert may_read(request(peer="::1", host=host))


@pytest.mark.parametrize(
    "of_others",
    [
        {"peer": "192.0.2.7"},
        {"peer": None},
        {"peer": "unix"},
        {"host": "ledger.example"},
        {"host": "192.0.2.1"},
        {"x_forwarded_for": "192.0.2.7"},
        {"forwarded": "for=192.0.2.7"},
        {"x_real_ip": "192.0.2.7"},
        {"via": "1.1 proxy"},
    ],
)
def test_what_may_be_of_another_machine_needs_the_token(of_others):
    assert not may_read(request(**of_others))
    assert not may_read(request(**of_others), token="right", sent="wrong")
    assert may_read(request(**of_others), token="right", sent="right")


def test_a_token_that_is_set_is_required_on_this_machine_too():
    assert not may_read(request(), token="right")  # as a plain proxy there passes it on
    assert not may_read(request(), token="right", sent="wröng")
    assert may_read(request(), token="right", sent="right")


def test_an_empty_token_is_none():
    assert may_read(request(), token="")
    assert not may_read(request(peer="192.0.2.7"), token="", sent="")


def test_without_a_token_none_is_compared():
    assert may_read(request(), sent="any")
