"""Pages in a real browser, under the real policy: nothing is refused, and the chart is drawn."""

import pytest

from tests.service.browsers import PATIENCE_MS

pytestmark = pytest.mark.slow(ci_only=True)
# Counts the pixels of the chart's canvas that something was drawn on.
DRAWN = """() => {
  const canvas = document.querySelector("#chart canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((value, place) => place % 4 === 3 && value > 0).length;
}"""

# Ends when the chart is narrower than the screen. Playwright's wait_for_function evaluates a string
# in the page, which the page's policy refuses.
NARROW = """() => new Promise(done => {
  const isNarrow = () => document.querySelector("#chart .uplot").clientWidth < 500;
  const look = () => (isNarrow() ? done() : requestAnimationFrame(look));
  look();
})"""


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (360, "dark"),
        (1280, "light"),
        (1280, "dark"),
        (360, "light"),
    ],
)
def test_pages_open_without_a_complaint_and_fit_the_screen(browser, served, pages, scheme, width):
    complaints: list[str] = []
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("response", lambda answer: complaints.extend([answer.url] * (not answer.ok)))

    too_wide = []
    for path in pages:
        page.goto(served + path, wait_until="load")
        if page.evaluate("document.documentElement.scrollWidth") > width:
            too_wide.append(path)
    context.close()

    assert complaints == []
    assert too_wide == []


@pytest.mark.parametrize("path", ["/series/1", "/series/2"])
def test_the_chart_takes_the_place_of_the_drawing(browser, served, path):
    page = browser.new_page()

    page.goto(served + path, wait_until="load")
    page.wait_for_selector("#chart .uplot canvas")

    assert page.evaluate(DRAWN) > 500
    assert page.locator("#chart svg").count() == 0
    page.close()


def test_the_chart_reads_out_the_point_under_the_pointer(browser, served):
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    page.goto(served + "/series/1", wait_until="load")
    page.wait_for_selector("#chart .uplot canvas")

    page.locator("#chart .u-over").hover(position={"x": 5, "y": 50})

    assert (
        page.locator("#reading").inner_text()
        == "1b0000000000: 12.3\u00a0ms (12.18\u00a0ms to 12.45\u00a0ms)"
    )
    page.close()


def test_the_chart_becomes_relative_and_a_click_opens_the_check(browser, served):
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    page.goto(served + "/series/1", wait_until="load")

    page.get_by_role("button", name="Relative").click()
    page.locator("#chart .u-over").hover(position={"x": 5, "y": 50})

    assert page.locator("#reading").inner_text().startswith("1b0000000000: 100\u00a0%")
    page.locator("#chart .u-over").click(position={"x": 5, "y": 50})
    page.wait_for_url(served + f"/runs/{0:032x}")
    page.close()


def test_the_chart_is_drawn_again_in_the_other_colours_and_at_another_width(browser, served):
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    page.goto(served + "/series/1", wait_until="load")
    page.wait_for_selector("#chart .uplot canvas")

    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 500, "height": 800})
    page.evaluate(NARROW)

    assert page.locator("#chart canvas").count() == 1
    assert page.evaluate(DRAWN) > 500
    page.close()


def test_the_series_is_drawn_without_scripts(browser, served):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()

    page.goto(served + "/series/1", wait_until="load")

    assert page.locator("#chart svg").is_visible()
    assert page.locator("#chart svg circle").count() == 16
    context.close()


def test_everything_is_reached_with_the_keyboard(browser, served):
    page = browser.new_page()
    page.goto(served + f"/runs/{0:032x}", wait_until="load")

    page.keyboard.press("Tab")

    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.wait_for_url("**#main", timeout=PATIENCE_MS)
    page.close()


def test_a_slash_leads_to_the_search_box_and_stays_a_slash_in_a_field(browser, served):
    page = browser.new_page()
    page.goto(served + "/acme/models/workloads", wait_until="load")

    page.keyboard.press("/")
    page.keyboard.type("a/b")

    assert page.evaluate("document.activeElement.id") == "search"
    assert page.locator("#search").input_value() == "a/b"
    page.close()


def test_a_command_has_a_button_that_copies_it(browser, served, pages):
    path = next(path for path, page in pages.items() if 'code class="typed"' in page)
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(served + path, wait_until="load")
    command = page.locator("code.typed").first

    page.get_by_role("button", name="Copy").first.click()
    page.get_by_role("button", name="Copied").wait_for()

    assert page.evaluate("navigator.clipboard.readText()") == command.inner_text()
    context.close()


FORBIDDEN = "{writeText: () => Promise.reject(new DOMException('no', 'NotAllowedError'))}"


@pytest.mark.parametrize("clipboard", ["undefined", FORBIDDEN], ids=["no HTTPS", "forbidden"])
def test_a_command_is_copied_where_the_browser_keeps_the_clipboard_from_the_page(
    browser, served, pages, clipboard
):
    path = next(path for path, page in pages.items() if 'code class="typed"' in page)
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.add_init_script(f"Object.defineProperty(navigator, 'clipboard', {{value: {clipboard}}})")
    page.goto(served + path, wait_until="load")
    command = page.locator("code.typed").first

    page.get_by_role("button", name="Copy").first.click()
    page.get_by_role("button", name="Copied").wait_for()
    page.locator("#search").focus()
    page.keyboard.press("Control+V")

    assert page.locator("#search").input_value() == command.inner_text()
    context.close()
