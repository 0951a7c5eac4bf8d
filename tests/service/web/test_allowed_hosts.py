"""A page that rebinds its own name to the service's address reads nothing."""

import socket

import pytest

PROJECT_PAGES = ("/", "/static/icon.svg", "/api/openapi.json", "/octo/models", "/nothing")


def status_of(site, host, path="/"):
    """Return the status of a request with this Host header, written byte by byte."""
    address, _, port = site.url.removeprefix("http://").partition(":")
    with socket.create_connection((address, int(port)), timeout=600) as connection:
        head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode())
        return int(connection.makefile("rb").readline().split()[1])


@pytest.mark.parametrize("path", PROJECT_PAGES)
def test_another_name_is_refused_whatever_it_asks_for(site, path):
    answer = site.client.get(path, headers={"Host": "evil.example:8765"})

    assert answer.status_code == 421
    assert "PERFLEDGER_PUBLIC_URL" in answer.text
    assert "evil.example" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "host",
    [
        *("ledger.example", "LEDGER.example", "ledger.example:8443"),  # the public URL's
        *("localhost", "localhost:8765", "127.0.0.1", "10.1.2.3:8765", "[::1]:8765"),
    ],
)
def test_the_public_name_and_addresses_are_served(site, host):
    assert status_of(site, host) == 200


@pytest.mark.parametrize(
    "host",
    [
        *("", "ledger.example.evil.example", "evil.example", "127.0.0.1.evil.example"),
        *("[::1", "ledger.example@evil.example", "localhost.", "0x7f000001"),
    ],
)
def test_what_only_looks_like_them_is_not(site, host):
    assert status_of(site, host) == 421
