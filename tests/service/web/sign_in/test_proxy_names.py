"""Tests whose word on who somebody is is believed, over real HTTP and of single requests."""

from datetime import timedelta
from ipaddress import ip_network

import httpx
import pytest
from starlette.requests import Request

from perfledger_service.errors import RefusedError
from perfledger_service.usecases.people.audit import audit_log
from perfledger_service.usecases.people.roles import grant_role
from perfledger_service.usecases.people.sign_in import SignInOptions, list_persons
from perfledger_service.values.people.person import Actor, Role
from perfledger_service.web.sign_in.proxy_names import proxy_name

HEADER = "X-Forwarded-User"
HERE = (ip_network("127.0.0.1/32"),)
OPTIONS = SignInOptions(
    idle=timedelta(hours=1),
    lifetime=timedelta(days=1),
    proxy_header=HEADER,
    proxy_addresses=(ip_network("192.0.2.0/28"), ip_network("2001:db8::/64")),
)


def request(*names, peer="192.0.2.7"):
    return Request(
        {
            "type": "http",
            "client": peer and (peer, 1),
            "headers": [(HEADER.lower().encode(), name.encode("latin-1")) for name in names],
        }
    )


@pytest.mark.parametrize("peer", ["192.0.2.7", "::ffff:192.0.2.7", "2001:db8::1"])
def test_the_proxys_name_is_believed(peer):
    assert proxy_name(request("alice@example.com", peer=peer), OPTIONS) == "alice@example.com"
    assert proxy_name(request(peer=peer), OPTIONS) == ""


@pytest.mark.parametrize("peer", ["192.0.2.16", "127.0.0.1", "2001:db9::1", None, "unix"])
def test_a_strangers_name_is_refused(peer):
    with pytest.raises(RefusedError, match="only the proxy may send"):
        proxy_name(request("alice", peer=peer), OPTIONS)


@pytest.mark.parametrize(
    "names",
    [
        ("alice", "mallory"),
        ("alice", "alice"),
        ("alice, mallory",),
        ("alice,mallory",),
        ("",),
        ("a b",),
        ("é",),
        ("a" * 201,),
        ("a\tb",),
    ],
)
def test_two_names_and_none_are_refused(names):
    with pytest.raises(RefusedError, match="the proxy must replace it"):
        proxy_name(request(*names), OPTIONS)


@pytest.fixture
def proxied(start_people_site):
    with start_people_site(proxy_header=HEADER, proxy_addresses=HERE) as site:
        yield site


def through_proxy(site, name):
    headers = {HEADER: name, "X-Forwarded-For": "203.0.113.9, 198.51.100.4", "Accept": "text/html"}
    return httpx.Client(base_url=site.url, headers=headers, timeout=600)


def test_a_person_of_the_proxy_reads_what_was_granted_and_no_more(proxied, clock):
    with through_proxy(proxied, "alice") as client:
        first = client.get("/octo/models")
        begun = client.get(first.headers["location"])
        assert begun.headers["location"] == "/octo/models"
        # alice may write to octo/models at GitHub, but the proxy's alice may be another.
        assert client.get("/octo/models").status_code == 404
        grant = (proxied.engine, "proxy:alice", "octo/models", Role.VIEWER)
        grant_role(*grant, actor=Actor(name="root"), now=clock())
        assert client.get("/octo/models").status_code == 200
        assert client.get("/octo/other").status_code == 404

    [person] = list_persons(proxied.engine)
    assert person.name == "proxy:alice"
    assert audit_log(proxied.engine, most=9)[-1].address == "198.51.100.4"


def test_a_session_is_of_the_person_whom_the_proxy_names_with_each_request(proxied):
    with through_proxy(proxied, "alice") as client:
        client.get("/sign-in")
        assert client.get("/account").status_code == 200
        for other in ({HEADER: "bob"}, {HEADER: ""}):
            assert client.get("/account", headers=other).status_code in {303, 403}
        del client.headers[HEADER]
        assert client.get("/account").status_code == 303
        assert client.get("/sign-in").status_code == 401


def test_a_header_that_was_smuggled_in_before_the_proxys_is_refused(proxied):
    with through_proxy(proxied, "alice") as client:
        twice = [(HEADER, "mallory"), (HEADER.lower(), "alice"), ("Accept", "text/html")]
        answers = [
            client.send(httpx.Request("GET", f"{proxied.url}{path}", headers=twice))
            for path in ("/", "/sign-in")
        ]

    assert [one.status_code for one in answers] == [403, 403]
    assert list_persons(proxied.engine) == ()


def test_a_stranger_who_sends_the_header_is_refused_on_every_page(start_people_site):
    networks = (ip_network("192.0.2.7/32"),)
    with (
        start_people_site(proxy_header=HEADER, proxy_addresses=networks) as site,
        through_proxy(site, "alice") as client,
    ):
        for path in ("/", "/octo/models", "/sign-in", "/account", "/runs/" + "1" * 32):
            assert client.get(path).status_code == 403, path
        assert list_persons(site.engine) == ()


def test_a_session_of_github_is_none_behind_a_proxy(start_people_site, github_sign_in, browser_of):
    alice = browser_of("alice")
    with (
        start_people_site(proxy_header=HEADER, proxy_addresses=HERE, github=github_sign_in) as site,
        through_proxy(site, "alice") as client,
    ):
        headers = {"Cookie": f"perfledger_session={alice.session}"}
        assert client.get("/account", headers=headers).status_code == 303
