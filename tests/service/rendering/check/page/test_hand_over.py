"""A check's steps in another tab: a stand-in for Perfetto's UI answers as its protocol says."""

import json

import pytest

pytestmark = pytest.mark.slow(ci_only=True)
RUN = f"/runs/{0:032x}"
# Loads late, as a large application does: what is said to it before that is lost.
PERFETTO = """<!doctype html><title>Perfetto</title><script>
setTimeout(() => addEventListener("message", (event) => {
  if (event.source !== opener) return;
  if (event.data === "PING") { event.source.postMessage("PONG", event.origin); return; }
  const { buffer, title, fileName } = event.data.perfetto;
  window.given = { title, fileName, text: new TextDecoder().decode(buffer) };
}), 300);
</script>"""
STRANGER = """<!doctype html><title>Stranger</title>"""


@pytest.fixture
def context(browser):
    context = browser.new_context()
    yield context
    context.close()


def answering(context, body, **headers):
    def answer(route):
        route.fulfill(status=200, content_type="text/html", headers=headers, body=body)

    context.route("https://ui.perfetto.dev/**", answer)


def test_both_steps_are_handed_to_perfetto(context, served):
    answering(context, PERFETTO)
    page = context.new_page()
    page.goto(served + RUN, wait_until="load")

    with context.expect_page() as opened:
        page.get_by_role("button", name="Open both steps in Perfetto").click()
    tab = opened.value
    tab.wait_for_function("window.given")
    given_value = tab.evaluate("window.given")

    trace = json.loads(given_value["text"])
    assert given_value["fileName"] == "perfledger-steps.json"
    assert given_value["title"] == "base and head of benchmarks.gpt:train_step[batch=8]"
    assert {event["pid"] for event in trace["traceEvents"]} == {1, 2}
    assert page.locator(".hand-over output").inner_text() == "Handed over."


def test_nothing_is_handed_to_a_tab_that_does_not_answer(context, served):
    answering(context, STRANGER)
    page = context.new_page()
    page.goto(served + RUN, wait_until="load")

    with context.expect_page() as opened:
        page.get_by_role("button", name="Open both steps in Perfetto").click()
    opened.value.wait_for_load_state()

    assert page.locator(".hand-over output").inner_text() == ""


def test_a_browser_that_opens_no_tab_is_told_of(context, served):
    page = context.new_page()
    page.add_init_script("window.open = () => null")
    page.goto(served + RUN, wait_until="load")

    page.get_by_role("button", name="Open both steps in Perfetto").click()

    assert "allow this site to open one" in page.locator(".hand-over output").inner_text()


def test_without_scripts_there_is_no_button_that_does_nothing(browser, served):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()

    page.goto(served + RUN, wait_until="load")

    assert page.locator(".hand-over").is_hidden()
    assert page.locator(".picture-frame svg").count() == 5  # a waterfall, two steps, memory, flames
    context.close()
