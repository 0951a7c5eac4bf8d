"""Bombs: counted while they are read, whatever the sender says about their size."""

import asyncio
import gzip
import json
import socket
import zlib
from contextlib import closing
from http.client import HTTPConnection

import pytest

from perfledger_service.errors import TooLargeError
from perfledger_service.web.body_limit import MAX_REQUEST_BYTES, BodySizeLimit

TOKEN = "pl_0123abcd_" + "s" * 43


def in_pieces(count, piece=b" " * 2**20):
    for _ in range(count):
        yield piece


def a_bomb(megabytes):
    """Return gzip that unpacks to so many MiB of spaces, a thousand times its size."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([*map(packer.compress, in_pieces(megabytes)), packer.flush()])


def raw(site, head, body=b"", *, ends=False):
    """Send bytes as they are and return what comes back until the server ends the connection."""
    host, _, port = site.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=600) as connection:
        connection.sendall(head.replace(b"\n", b"\r\n") + b"\r\n\r\n" + body)
        if ends:
            connection.shutdown(socket.SHUT_WR)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


@pytest.fixture
def head():
    token = f"Authorization: Bearer {TOKEN}\n".encode()
    return b"POST /api/v1/uploads HTTP/1.1\nHost: 127.0.0.1\n" + token


def test_a_request_that_says_it_is_too_large_is_not_read(site, head):
    length = f"Content-Length: {MAX_REQUEST_BYTES + 1}\nExpect: 100-continue"
    answer = raw(site, head + length.encode())

    assert answer.startswith(b"HTTP/1.1 413")
    assert b"the limit is 33554432" in answer


def test_a_stream_that_never_says_how_large_it_is_is_cut_at_the_limit():
    pieces = iter(range(100))

    async def receive():
        next(pieces)
        return {"type": "http.request", "body": b" " * 10, "more_body": True}

    async def reader(_scope, receive, _send):
        while True:
            await receive()

    async def send(_message):
        raise AssertionError

    limited = BodySizeLimit(reader, max_bytes=105)
    with pytest.raises(TooLargeError, match="more than 105 bytes"):
        asyncio.run(limited({"type": "http", "headers": []}, receive, send))
    assert next(pieces) == 11


def answer_after_all(site, body, *, token=TOKEN, is_chunked=False):
    """Return the answer to a client that reads none before it has sent everything, as urllib."""
    connection = HTTPConnection(site.url.removeprefix("http://"), timeout=600)
    headers = {"Authorization": f"Bearer {token}"}
    if not is_chunked:
        headers["Content-Length"] = str(48 * 2**20)
    with closing(connection):
        connection.request("POST", "/api/v1/uploads", body, headers, encode_chunked=is_chunked)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())["detail"], answer.getheader("connection")


@pytest.mark.slow
@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_sender_of_too_much_reads_why(site, is_chunked):
    status, reason, connection = answer_after_all(site, in_pieces(48), is_chunked=is_chunked)

    assert (status, connection) == (413, "close")
    assert "send less, or gzip" in reason


@pytest.mark.slow
def test_a_sender_without_a_token_reads_why(site):
    status, reason, _ = answer_after_all(site, in_pieces(48), token="pl_nobody")

    assert status == 401
    assert "token" in reason


def refused(*head):
    """Return what is sent to a client without an end, each with the pieces read until then."""
    pieces = 0
    sent = []

    async def receive():
        nonlocal pieces
        pieces += 1
        return {"type": "http.request", "body": b" " * 10, "more_body": True}

    async def refusing(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b"no"})

    async def send(message):
        sent.append((message.get("body"), message.get("more_body", False), pieces))

    headers = [(name.encode(), value.encode()) for name, value in head]
    limited = BodySizeLimit(refusing, max_bytes=20, max_drained_bytes=100)
    asyncio.run(limited({"type": "http", "headers": headers}, receive, send))
    return sent[1:]


def test_a_refusal_is_sent_at_once_and_ends_when_enough_was_thrown_away():
    assert refused(("transfer-encoding", "chunked")) == [(b"no", True, 0), (None, False, 10)]


@pytest.mark.parametrize("head", [(), (("content-length", "1000"), ("expect", "100-continue"))])
def test_nothing_is_awaited_of_a_sender_that_sends_nothing_or_waits_for_permission(head):
    assert refused(*head) == [(b"no", False, 0)]


def test_a_lying_length_ends_with_the_connection(site, head):
    answer = raw(site, head + b"Content-Length: 100000", b"{}", ends=True)

    assert not answer.startswith(b"HTTP/1.1 2")


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [64, pytest.param(300, marks=pytest.mark.slow(ci_only=True))])
def test_a_gzip_bomb_is_refused(site, megabytes):
    bomb = a_bomb(megabytes)
    assert len(bomb) < MAX_REQUEST_BYTES
    answer = site.upload(bomb)

    assert answer.status_code == 400
    assert "unpacks to more than" in answer.json()["detail"]


def test_a_bomb_in_a_bomb_is_no_bundle(site):
    assert site.upload(gzip.compress(a_bomb(4))).status_code == 400


def test_something_after_the_gzip_is_refused(site, make_bundle):
    body = gzip.compress(make_bundle().to_json().encode())

    for tail in (b"x", body):
        assert site.upload(body + tail).status_code == 400


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000 + "]" * 50_000,
        '{"a":' * 50_000 + "1" + "}" * 50_000,
        "1" * 100_000,
        json.dumps({"format": "perfledger-bundle", "version": 1, "id": 1e308 * 10}),
        '{"format": "perfledger-bundle", "version": 1, "version": 1}',
    ],
)
def test_json_that_hurts_parsers_is_refused(site, text):
    answer = site.upload(text.encode())

    assert answer.status_code == 400
    assert len(answer.text) < 1000


@pytest.mark.slow(ci_only=True)
def test_a_bundle_of_ordinary_size_passes(site, make_bundle):
    bundle = make_bundle(workloads=tuple(f"gpt:step{number}" for number in range(100)))

    assert site.upload(bundle).status_code == 202
