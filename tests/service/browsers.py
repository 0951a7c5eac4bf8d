"""What is found on pages in a real browser."""

from axe_playwright_python.sync_playwright import Axe

# Of axe's four; "minor" ones are advice.
BARRIERS = ("moderate", "serious", "critical")


def barriers_of(page):
    """Return what keeps people from using a page, with the elements that are wrong."""
    violations = Axe().run(page).response["violations"]
    return {
        f"{one['id']}: {one['help']}": [node["html"] for node in one["nodes"]]
        for one in violations
        if one["impact"] in BARRIERS
    }
