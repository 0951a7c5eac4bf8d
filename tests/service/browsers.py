"""A real browser, and what it finds on pages."""

from contextlib import contextmanager

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

PATIENCE_MS = 600_000.0  # no limit that a busy machine reaches
# Of axe's four; "minor" ones are advice.
BARRIERS = ("moderate", "serious", "critical")


@contextmanager
def running_chromium(path):
    """Start Chromium, which waits for what a test expects as long as it takes."""
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE_MS)
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"], timeout=PATIENCE_MS
        )
        yield browser
        browser.close()


def barriers_of(page):
    """Return what keeps people from using a page, with the elements that are wrong."""
    violations = Axe().run(page).response["violations"]
    return {
        f"{one['id']}: {one['help']}": [node["html"] for node in one["nodes"]]
        for one in violations
        if one["impact"] in BARRIERS
    }
