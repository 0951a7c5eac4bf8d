"""Tests the security headers of every answer."""

import asyncio

import pytest

from perfledger_service.web.responses.headers import HEADERS, SecurityHeaders

SECURITY = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
}


def answered(*headers, kind="http.response.start"):
    """Return the headers of an application's answer after the middleware."""
    sent = []

    async def app(_scope, _receive, send):
        await send({"type": kind, "status": 200, "headers": list(headers)})
        await send({"type": "http.response.body", "body": b"ok"})

    async def send(message):
        sent.append(message)

    async def receive():
        raise AssertionError

    asyncio.run(SecurityHeaders(app)({"type": "http"}, receive, send))
    start, body = sent
    assert body == {"type": "http.response.body", "body": b"ok"}
    return {name.decode(): value.decode() for name, value in start["headers"]}


def test_an_answer_has_every_header():
    assert answered() == {name.lower(): value for name, value in HEADERS.items()}


def test_a_routes_own_value_stays_and_is_the_only_one():
    own = (b"cross-origin-opener-policy", b"same-origin-allow-popups")

    texts = answered(own, (b"content-type", b"text/plain"))

    assert texts["cross-origin-opener-policy"] == "same-origin-allow-popups"
    assert texts["content-type"] == "text/plain"
    assert len(texts) == len(HEADERS) + 1


def test_other_messages_are_passed_on_as_they_are():
    assert answered(kind="websocket.accept") == {}


def test_the_policy_allows_nothing_from_elsewhere_and_no_frame():
    policy = HEADERS["Content-Security-Policy"]

    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.slow
def test_pages_errors_files_and_the_api_keep_browsers_safe(site, make_bundle):
    upload = site.upload(make_bundle(ratio=1.2)).json()["id"]
    site.judge(upload)
    paths = ("/", "/octo/models/pull/7", f"/runs/{upload}", "/series/1", "/nothing", "/healthz")
    files = ("/static/icon.svg", f"/runs/{upload}/bundle.json")

    answers = [*map(site.get, (*paths, *files)), site.upload(b"nonsense"), site.client.post("/")]

    for answer in answers:
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert {name: answer.headers[name] for name in SECURITY} == SECURITY
