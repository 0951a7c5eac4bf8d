"""Bombs: counted while they are read, whatever the sender says about their size."""

import asyncio
import gzip
import json
import socket
import zlib

import httpx
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
    return (
        b"POST /api/v1/uploads HTTP/1.1\nHost: h\nAuthorization: Bearer " + TOKEN.encode() + b"\n"
    )


def test_a_request_that_says_it_is_too_large_is_not_read(site, head):
    answer = raw(site, head + f"Content-Length: {MAX_REQUEST_BYTES + 1}".encode())

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
        asyncio.run(limited({"type": "http"}, receive, send))
    assert next(pieces) == 11


@pytest.mark.slow
def test_a_stream_that_is_too_large_is_answered_so(site):
    """In process: over a socket the rest of the stream may run into the closed connection first."""

    async def pieces():
        for _ in range(33):
            yield b" " * 2**20

    async def post():
        transport = httpx.ASGITransport(site.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://h") as client:
            headers = {"Authorization": f"Bearer {TOKEN}"}
            return await client.post("/api/v1/uploads", content=pieces(), headers=headers)

    answer = asyncio.run(post())

    assert answer.status_code == 413
    assert answer.headers["connection"] == "close"
    assert "send less, or gzip" in answer.json()["error"]


def test_a_lying_length_ends_with_the_connection(site, head):
    answer = raw(site, head + b"Content-Length: 100000", b"{}", ends=True)

    assert not answer.startswith(b"HTTP/1.1 2")


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [64, 300])
def test_a_gzip_bomb_is_refused(site, megabytes):
    bomb = a_bomb(megabytes)
    assert len(bomb) < MAX_REQUEST_BYTES
    answer = site.upload(bomb)

    assert answer.status_code == 400
    assert "unpacks to more than" in answer.json()["error"]


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


def test_a_bundle_of_ordinary_size_passes(site, make_bundle):
    bundle = make_bundle(workloads=tuple(f"gpt:step{number}" for number in range(100)))

    assert site.upload(bundle).status_code == 202
