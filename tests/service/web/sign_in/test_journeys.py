"""Ways of people who are signed in through the pages, in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.service.browsers import PATIENCE_MS, barriers_of, running_chromium

pytestmark = pytest.mark.slow(ci_only=True)
ADMIN_PAGES = (
    *("/account", "/admin", "/admin/tokens", "/admin/waiting", "/admin/github", "/admin/prices"),
    *("/admin/audit", "/octo/models", "/octo/models/events/1", "/octo/models/audit"),
    *("/octo/models/costs", "/octo/models/reviews", "/octo/models/machines"),
)


@pytest.fixture(scope="module")
def chromium(require_system):
    with running_chromium(require_system("chromium", package="chromium")) as browser:
        yield browser


@pytest.fixture
def open_page(chromium, browser_of, people_site):
    """Open a page in the browser of somebody who is signed in, and collect what it complains of."""
    contexts = []

    def open_page(login, complaints, **options):
        context = chromium.new_context(base_url=people_site.url, **options)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        session = {"name": "perfledger_session", "value": browser_of(login).session}
        context.add_cookies([session | {"url": people_site.url}])
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("look", [("light", 360), ("dark", 1440)])
def test_pages_for_those_who_are_signed_in_fit_and_are_accessible(open_page, look):
    theme, width = look
    complaints, too_wide, barriers = [], [], {}
    page = open_page(
        "carol", complaints, color_scheme=theme, viewport={"width": width, "height": 900}
    )

    for address in ADMIN_PAGES:
        answer = page.goto(address)
        assert answer.ok, address
        page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        if page.evaluate("document.documentElement.scrollWidth") > width:
            too_wide.append(address)
        if found_barriers := barriers_of(page):
            barriers[address] = found_barriers

    assert complaints == []
    assert too_wide == []
    assert barriers == {}


def test_an_event_is_decided_on_with_keys_alone(open_page):
    complaints = []
    page = open_page("alice", complaints)
    page.goto("/octo/models")

    page.keyboard.press("j")
    expect(page.locator("#event-1")).to_be_focused()
    page.keyboard.press("b")
    expect(page.get_by_role("button", name="Bisect")).to_be_focused()
    page.locator("#event-1").focus()
    page.keyboard.press("e")
    expect(page.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("safer math")
    page.get_by_label("Owner").fill("alice")
    page.keyboard.press("Enter")

    part = "part=to-decide&order=newest&page=1&decided=1"
    expect(page).to_have_url(f"/octo/models?{part}#event-1")
    page.get_by_role("link", name="Expected 1").click()
    expect(page.locator("#event-1")).to_contain_text("Safer math; owner alice.")
    assert complaints == []
