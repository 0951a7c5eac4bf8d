import pytest
from starlette.requests import Request
from starlette.responses import Response

from perfledger_service.web.sign_in.cookies import SESSION, cookie_of, remove_cookie, set_cookie

HTTPS, HTTP = "https://ledger.example", "http://127.0.0.1:8765"


def attributes(response):
    return response.headers["set-cookie"].split("; ")


def test_over_https_a_cookie_is_bound_to_the_host_and_never_sent_in_the_clear():
    response = Response()
    set_cookie(response, SESSION, "secret", max_age_s=60, public_url=HTTPS)
    first, *rest = attributes(response)

    assert first == "__Host-perfledger_session=secret"
    assert set(rest) == {"HttpOnly", "Max-Age=60", "Path=/", "SameSite=lax", "Secure"}


def test_over_http_a_browser_would_refuse_such_a_cookie():
    response = Response()
    set_cookie(response, SESSION, "secret", max_age_s=60, public_url=HTTP)
    first, *rest = attributes(response)

    assert first == "perfledger_session=secret"
    assert set(rest) == {"HttpOnly", "Max-Age=60", "Path=/", "SameSite=lax"}


@pytest.mark.parametrize("url", [HTTPS, HTTP])
def test_a_cookie_is_removed_by_the_name_and_place_that_it_was_set_with(url):
    response = Response()
    remove_cookie(response, SESSION, public_url=url)

    assert {"Max-Age=0", "Path=/"} <= set(attributes(response))
    assert ("Secure" in attributes(response)) is (url == HTTPS)


def test_over_https_a_cookie_that_another_host_of_the_domain_set_is_not_read():
    cookie = b"perfledger_session=planted; __Host-perfledger_session=own"
    request = Request({"type": "http", "headers": [(b"cookie", cookie)]})

    assert cookie_of(request, SESSION, public_url=HTTPS) == "own"
    assert cookie_of(request, SESSION, public_url=HTTP) == "planted"
    assert cookie_of(Request({"type": "http", "headers": []}), SESSION, public_url=HTTP) == ""
