"""Signs people in with the stand-in for GitHub, over real HTTP, as attackers would like to."""

from datetime import timedelta
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from perfledger_service.usecases.people.audit import audit_log
from perfledger_service.values.people.person import AuditAction
from perfledger_service.web.sign_in.cookies import ATTEMPT, MAX_ATTEMPTS
from tests.cases import case


def test_a_page_leads_through_github_and_back_to_itself(browser_of):
    browser = browser_of("alice", is_signed_in=False)
    page = "/octo/models/workloads?page=1"

    first = browser.get(page)
    begun = browser.get(first.headers["location"])
    finished = browser.get(browser.go_to_github(begun.headers["location"]))

    assert [one.status_code for one in (first, begun, finished)] == [303, 303, 303]
    assert finished.headers["location"] == page
    assert browser.get(page).status_code == 200
    assert "alice" in browser.get("/account").text


def test_the_cookies_are_of_this_site_for_no_script_and_for_a_time(browser_of):
    browser = browser_of("alice", is_signed_in=False)
    begun = browser.get("/sign-in")
    finished = browser.get(browser.go_to_github(begun.headers["location"]))
    [begin_cookie] = begun.headers.get_list("set-cookie")
    session_cookie, removal = finished.headers.get_list("set-cookie")

    for cookie in (begin_cookie, session_cookie, removal):
        assert {"HttpOnly", "Path=/", "SameSite=lax"} <= set(cookie.split("; "))
    assert "Max-Age=600" in begin_cookie
    assert f"Max-Age={7 * 86400}" in session_cookie
    assert removal.startswith(f'{begin_cookie.partition("=")[0]}="";')


def test_githubs_page_gets_a_state_and_a_challenge_and_no_secret(browser_of):
    begun = browser_of("alice", is_signed_in=False).get("/sign-in")
    query = parse_qs(urlsplit(begun.headers["location"]).query)

    assert set(query) == {
        *("client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method")
    }
    assert query["code_challenge_method"] == ["S256"]
    assert "stand-in client secret" not in begun.headers["location"]


def test_no_sign_in_leads_to_another_place(browser_of):
    for target in [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "/%09/evil.example".replace("%09", "\t"),
        "\\\\evil.example",
        "javascript:alert(1)",
        "/" + "a" * 3000,
        "/a\r\nSet-Cookie: x=1",
        "",
    ]:
        with case(target=target):
            browser = browser_of("alice", is_signed_in=False)

            assert browser.sign_in(target).headers["location"] == "/"


def callback(browser):
    """Begin to sign in, and return the path that finishes it."""
    return browser.go_to_github(browser.get("/sign-in").headers["location"])


def attempts(browser):
    """Return the cookies of a browser's sign-ins that are not finished."""
    cookies = browser.client.cookies.items()
    return [(name, secret) for name, secret in cookies if name.startswith(ATTEMPT)]


def assert_refused(answer, browser):
    assert answer.status_code == 403
    assert "sign in again" in answer.text
    assert 'href="/sign-in"' in answer.text  # a way back
    assert browser.session is None


@pytest.mark.parametrize("state", ["", "x", "é", "a" * 900])
def test_a_forged_state_signs_nobody_in(browser_of, state):
    browser = browser_of("alice", is_signed_in=False)
    query = parse_qs(urlsplit(callback(browser)).query)

    answer = browser.get("/sign-in/callback", params={"state": state, "code": query["code"][0]})

    assert_refused(answer, browser)


def test_a_state_works_once(browser_of):
    browser = browser_of("alice", is_signed_in=False)
    path = callback(browser)
    [(name, secret)] = attempts(browser)
    assert browser.get(path).status_code == 303
    replaying = browser_of("mallory", is_signed_in=False)
    replaying.client.cookies.set(name, secret)

    assert attempts(browser) == []
    assert_refused(replaying.get(path), replaying)


def test_tabs_that_sign_in_at_once_all_come_back(browser_of):
    browser = browser_of("alice", is_signed_in=False)
    begun = [browser.get("/sign-in", params={"next": f"/{tab}"}) for tab in range(3)]
    paths = [browser.go_to_github(one.headers["location"]) for one in begun]

    finished = [browser.get(path) for path in reversed(paths)]
    assert [one.headers.get("location") for one in finished] == ["/2", "/1", "/0"]
    assert attempts(browser) == []


@pytest.mark.parametrize(
    ("path", "next_path"),
    [
        ("/octo/models/workloads/m:f[a=1,%20b=%23%C3%A9]?format=json", None),
        ("/%5Cevil.example/x", None),
        ("/octo/models/workloads?text=" + 4100 * "a", "/"),
    ],
)
def test_whoever_has_to_sign_in_first_comes_back_to_the_page_asked_for(browser_of, path, next_path):
    browser = browser_of("alice", is_signed_in=False)
    begun = browser.get(browser.get(path).headers["location"])
    back = browser.get(browser.go_to_github(begun.headers["location"])).headers["location"]

    assert (unquote(back), back.isascii()) == (unquote(next_path or path), True)


def test_no_stranger_ends_the_sign_ins_of_others(browser_of):
    path = callback(alice := browser_of("alice", is_signed_in=False))
    stranger = browser_of("x", is_signed_in=False)
    for _ in range(2 * MAX_ATTEMPTS):
        assert stranger.get("/sign-in").status_code == 303

    assert len(attempts(stranger)) == MAX_ATTEMPTS  # the last of them
    assert stranger.get(callback(stranger)).status_code == 303
    assert alice.get(path).status_code == 303


def test_names_of_cookies_that_are_not_ours_are_left_alone(people_site):
    names = ("é", "", "a" * 16, "0" * 17, 'a"b')
    cookie = "; ".join(f"perfledger_sign_in_{name}=x" for name in names * MAX_ATTEMPTS)

    answer = people_site.client.get("/sign-in", headers={"Cookie": cookie.encode()})
    assert answer.status_code == 303
    assert len(answer.headers.get_list("set-cookie")) == 1


def test_another_browsers_sign_in_cannot_be_finished_here(browser_of):
    mallory = browser_of("mallory", is_signed_in=False)
    path = callback(mallory)
    victim, fresh = (browser_of("alice", is_signed_in=False) for _ in range(2))
    victim.get("/sign-in")  # with a sign-in of her own that is not finished

    for browser in (victim, fresh):
        assert_refused(browser.get(path), browser)


@pytest.mark.parametrize(("step", "status"), [(timedelta(0), 403), (timedelta(seconds=1), 303)])
def test_a_sign_in_ends_after_some_minutes(browser_of, clock, step, status):
    browser = browser_of("alice", is_signed_in=False)
    path = callback(browser)
    clock.move(timedelta(minutes=10) - step)

    assert browser.get(path).status_code == status


def test_who_does_not_let_the_app_know_comes_back_to_a_page_with_a_way_back(browser_of):
    browser = browser_of("alice", is_signed_in=False)
    begun = browser.get("/sign-in")
    answer = browser.get(browser.go_to_github(begun.headers["location"], is_denied=True))

    assert_refused(answer, browser)
    assert "access_denied" in answer.text


def test_a_made_up_error_is_not_repeated(browser_of):
    browser = browser_of("alice", is_signed_in=False)
    answer = browser.get("/sign-in/callback", params={"error": "Call 555-0100 now!"})

    assert_refused(answer, browser)
    assert "555" not in answer.text


def test_a_code_that_github_does_not_know_signs_nobody_in(browser_of):
    browser = browser_of("alice", is_signed_in=False)
    state = parse_qs(urlsplit(callback(browser)).query)["state"][0]

    answer = browser.get("/sign-in/callback", params={"state": state, "code": "made-up"})

    assert_refused(answer, browser)
    assert "bad_verification_code" in answer.text


def test_a_code_of_another_browser_fails_at_the_verifier(browser_of):
    stolen = parse_qs(urlsplit(callback(browser_of("alice", is_signed_in=False))).query)["code"][0]
    mallory = browser_of("mallory", is_signed_in=False)
    state = parse_qs(urlsplit(callback(mallory)).query)["state"][0]

    assert_refused(
        mallory.get("/sign-in/callback", params={"state": state, "code": stolen}), mallory
    )


@pytest.mark.parametrize("path", ["/login/oauth/access_token", "/user"])
def test_while_github_fails_nobody_is_signed_in_and_the_page_says_so(browser_of, at_github, path):
    browser = browser_of("alice", is_signed_in=False)
    back = callback(browser)
    at_github.fail_next(path=path, status=503, count=9)

    answer = browser.get(back)

    assert answer.status_code == 502
    assert 'href="/sign-in"' in answer.text
    assert browser.session is None


def test_a_planted_session_is_replaced_at_the_sign_in(browser_of, people_site):
    mallory, victim = browser_of("bob"), browser_of("alice", is_signed_in=False)
    planted = mallory.session
    victim.client.cookies.set("perfledger_session", planted, domain="127.0.0.1")
    victim.sign_in()

    assert victim.session != planted
    assert mallory.get("/octo/other").status_code == 303  # the planted one ended
    assert people_site is not None


def test_a_tampered_cookie_is_no_session(browser_of):
    browser = browser_of("alice")
    secret = browser.session
    for tampered in (secret[:-1], secret.swapcase(), f"{secret}x", "", "\x7f", "a" * 4000):
        browser.client.cookies.clear()
        answer = browser.get("/", headers={"Cookie": f"perfledger_session={tampered}"})
        assert answer.status_code == 303, tampered


@pytest.mark.slow(ci_only=True)
def test_an_unused_session_ends_and_a_used_one_too(browser_of, clock):
    browser = browser_of("alice")
    for _ in range(13):  # 6.5 days in use
        clock.move(timedelta(hours=11, minutes=59))
        assert browser.get("/account").status_code == 200
    clock.move(timedelta(hours=12))
    assert browser.get("/account").status_code == 303

    browser.sign_in()
    clock.move(timedelta(hours=12))
    assert browser.get("/account").status_code == 303


@pytest.mark.slow(ci_only=True)
def test_a_session_in_use_ends_after_its_lifetime(browser_of, clock):
    browser = browser_of("alice")
    statuses = []
    for _ in range(15):
        clock.move(timedelta(hours=11, minutes=59))
        statuses.append(browser.get("/account").status_code)

    assert statuses == [200] * 14 + [303]


def test_who_signs_out_is_signed_out_on_the_server(browser_of):
    browser = browser_of("alice")
    secret = browser.session

    answer = browser.post("/sign-out")

    assert answer.headers["location"] == "/signed-out"
    assert browser.session is None
    assert 'href="/sign-in"' in browser.get("/signed-out").text
    kept_response = browser.get("/", headers={"Cookie": f"perfledger_session={secret}"})
    assert kept_response.status_code == 303


def test_signing_in_and_out_is_in_the_audit_log_with_the_address(browser_of, people_site):
    browser_of("alice").post("/sign-out")

    entries = audit_log(people_site.engine, most=9)
    assert [(one.action, one.actor, one.address) for one in entries] == [
        (AuditAction.SIGN_OUT, "alice", "127.0.0.1"),
        (AuditAction.SIGN_IN, "alice", "127.0.0.1"),
    ]


def test_no_secret_is_stored_as_it_is(browser_of, people_site, tmp_path):
    browser = browser_of("alice")
    browser.get("/sign-in")
    secrets = [browser.session, browser.form_token, *(secret for _, secret in attempts(browser))]
    people_site.engine.dispose()
    content = b"".join(path.read_bytes() for path in tmp_path.glob("perfledger.db*"))

    assert b"alice" in content
    assert [one for one in secrets if one.encode() in content] == []


def test_where_nobody_signs_in_there_is_no_sign_in(site):
    for path in ("/sign-in", "/sign-in/callback?code=a&state=b"):
        assert site.get(path).status_code == 404
    assert "nobody can sign in" in site.get("/account").text
    assert site.get("/").status_code == 200
