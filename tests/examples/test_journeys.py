"""An engineer's ways through the pages of a made history, in a real browser."""

import re
from itertools import product

import pytest
from playwright.sync_api import expect

from tests.service.browsers import PATIENCE_MS, barriers_of, running_chromium

# `make test` opens pages of each kind in a browser as well, each alone.
pytestmark = pytest.mark.slow(ci_only=True)
WIDTHS = (360, 768, 1440)
MAX_FIRST_VIEW = 150_000  # bytes of a page, without what browsers cache for all pages
THEMES = ("light", "dark")
# axe takes seconds a page: one look of each theme, the narrowest and the widest.
AXE_LOOKS = (("light", 360), ("dark", 1440))


@pytest.fixture(scope="module")
def site(demo, tmp_path_factory):
    """A service with a small history."""
    folder = tmp_path_factory.mktemp("site")
    with demo.demo_pages.running_history(folder, commits=4, pull_requests=3) as address:
        yield address


@pytest.fixture(scope="module")
def browser(require_system):
    with running_chromium(require_system("chromium", package="chromium")) as browser:
        yield browser


@pytest.fixture
def complaints():
    return []


@pytest.fixture
def open_page(browser, site, complaints):
    """Open pages of one kind of browser that is signed in; its complaints are collected."""
    contexts = []

    def open_page(**options):
        context = browser.new_context(**options)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{site}/sign-in")
        return page

    yield open_page
    for context in contexts:
        context.close()


def kinds_of_pages(page, site):
    """Return an address of each kind of page, found by links from the front page on."""
    kinds: dict[str, str] = {}
    waiting = ["/"]
    while waiting:
        path = waiting.pop()
        page.goto(site + path)
        for link in page.locator("a[href^='/']:not([download])").all():
            href = str(link.get_attribute("href"))
            kind = re.sub(r"[0-9a-f]{32}|\d+|(?<=workloads/).*|\?.*", "*", href)
            if kind not in kinds and not href.endswith((".json", "=csv", "=json")):
                kinds[kind] = href
                waiting.append(href)
    return kinds


@pytest.fixture(scope="module")
def addresses(browser, site):
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{site}/sign-in")
    kinds = kinds_of_pages(page, site)
    page.close()
    return kinds


def test_every_kind_of_page_is_reached_by_links(addresses):
    assert {
        *("/", "/capacity", "/acme/models", "/acme/models/pulls", "/acme/models/pull/*"),
        *(
            "/acme/models/compare",
            "/acme/models/costs",
            "/acme/models/machines",
            "/acme/models/reviews",
            "/acme/models/reviews/*",
            "/acme/models/workloads",
            "/acme/models/workloads/*",
            "/acme/models/events/*",
            *(f"/admin{page}" for page in ("", "/tokens", "/waiting", "/github", "/prices")),
            "/admin/audit",
            "/series/*",
            "/runs/*",
        ),
    } <= set(addresses)


@pytest.mark.parametrize("look", list(product(THEMES, WIDTHS)))
def test_pages_fit_are_accessible_and_complain_of_nothing(
    open_page, complaints, site, addresses, look
):
    theme, width = look
    page = open_page(color_scheme=theme, viewport={"width": width, "height": 900})
    too_wide, barriers = [], {}

    for address in addresses.values():
        answer = page.goto(site + address)
        assert answer.ok, address
        if page.evaluate("document.documentElement.scrollWidth") > width:
            too_wide.append(address)
        if look in AXE_LOOKS and (found_barriers := barriers_of(page)):
            barriers[address] = found_barriers

    assert complaints == []
    assert too_wide == []
    assert barriers == {}


def test_from_the_front_page_to_the_cause_of_a_regression(open_page, complaints, site):
    page = open_page()
    page.goto(site)

    page.get_by_role("link", name="acme/models", exact=True).first.click()
    page.get_by_role("link", name="Pull requests").click()
    page.get_by_role("link", name="#41 Return the attention weights").click()
    page.locator("h2 a[href^='/runs/']").first.click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("slower")
    expect(page.get_by_role("main")).to_contain_text("aten::bmm")
    assert complaints == []


def test_from_a_workload_to_its_history_and_the_check_of_a_point(open_page, complaints, site):
    page = open_page()
    page.goto(site + "/acme/models/workloads")

    page.get_by_label("Name contains").fill("resnet")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator(".group")).to_have_count(1)
    page.locator(".group a").click()
    page.get_by_role("link", name="step time").first.click()
    page.locator("#chart .uplot canvas").wait_for()
    page.get_by_role("region", name="Commits").get_by_role("link").first.click()

    expect(page).to_have_url(re.compile("/(runs|pull)/"))
    assert complaints == []


def test_what_is_not_there_leads_back(open_page, site):
    page = open_page()

    answer = page.goto(site + "/acme/models/pull/999")

    assert answer.status == 404
    page.get_by_role("main").get_by_role("link", name="acme/models").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("acme/models")


def test_a_first_view_is_small(open_page, site, addresses):
    page = open_page()
    sizes = {
        path: len(page.request.get(site + path).body())
        for path in addresses.values()
        if not path.endswith("/html")  # a review is a document: its charts and styles are in it
    }

    assert any(path.startswith("/runs/") for path in sizes)
    assert {path: size for path, size in sizes.items() if size >= MAX_FIRST_VIEW} == {}


def test_pages_are_complete_without_scripts(open_page, site, addresses):
    page = open_page(java_script_enabled=False)

    page.goto(site + addresses["/series/*"])

    expect(page.locator("#chart svg")).to_be_visible()
    expect(page.locator("#chart-tools")).to_be_hidden()
    expect(page.get_by_role("region", name="Commits")).to_be_visible()
