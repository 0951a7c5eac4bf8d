"""Takes PNG pictures of comments and pages for the documentation."""

import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from demo_repository import REPOSITORY, DemoError
from demo_service import PostedReport

THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
# CSS pixels; a comment has its full height, a page is cut off.
WIDTH, PAGE_WIDTH, HEIGHT = 960, 1120, 1200
PAGE_HEIGHT = 1000
# The pages of a generated history; the addresses of some are known only from links on another page.
PAGES = {
    "checks": "/",
    "triage": f"/{REPOSITORY}",
    "event": f"/{REPOSITORY}",
    "pull-requests": f"/{REPOSITORY}/pulls",
    "pull-request": f"/{REPOSITORY}/pull/43",
    "check": f"/{REPOSITORY}/pull/41",
    "compare": "/",
    "workloads": f"/{REPOSITORY}/workloads",
    "workload": f"/{REPOSITORY}/workloads",
    "series": f"/{REPOSITORY}/workloads/benchmarks.jax_attention:inference",
    "machines": f"/{REPOSITORY}/machines",
    "costs": f"/{REPOSITORY}/costs",
    "reviews": f"/{REPOSITORY}/reviews",
    "review": f"/{REPOSITORY}/reviews/1/html",
    "search": "/search?q=attention",
    "capacity": "/capacity",
    "jobs": f"/{REPOSITORY}/machines#jobs",
    "account": "/account",
    "projects": "/admin",
    "tokens": "/admin/tokens",
    "waiting": "/admin/waiting",
    "github": "/admin/github",
    "prices": "/admin/prices",
    "audit": "/admin/audit",
    "error": "/nothing",
}
FURTHER_LINKS = {
    "event": ("article .event-link",),
    "check": ("a[href^='/runs/']",),
    "workload": (".group a",),
    "series": ("tr:has-text('step time') a[href^='/series/']",),
}
SCALE = 2  # device pixels per CSS pixel: sharp on today's screens
# Approximates a comment on GitHub, with the fonts of the machine.
FRAME = """\
<!doctype html><meta charset="utf-8"><style>
:root { color-scheme: light dark; --ink: #1f2328; --dim: #59636e; --paper: #fff; --head: #f6f8fa;
  --line: #d1d9e0; --code: #818b981f; --link: #0969da; }
@media (prefers-color-scheme: dark) { :root { --ink: #f0f6fc; --dim: #9198a1; --paper: #0d1117;
  --head: #151b23; --line: #3d444d; --code: #656c7633; --link: #4493f8; } }
body { margin: 0; padding: 24px; background: var(--paper); color: var(--ink);
  font: 14px/1.5 -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", Helvetica, sans-serif; }
article { border: 1px solid var(--line); border-radius: 6px; overflow-wrap: break-word; }
header { padding: 8px 16px; background: var(--head); color: var(--dim); border-radius: 6px 6px 0 0;
  border-bottom: 1px solid var(--line); }
header b { color: var(--ink); }
header span { border: 1px solid var(--line); border-radius: 2em; padding: 0 7px; font-size: 12px; }
section { padding: 16px; } section > :first-child { margin-top: 0; }
h3 { font-size: 1.25em; } h4 { font-size: 1em; } h3, h4 { margin: 24px 0 16px; font-weight: 600; }
p, table, ul, details, pre { margin: 0 0 16px; }
table { border-collapse: collapse; display: block; width: max-content; max-width: 100%;
  overflow: auto; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid var(--line); padding: 6px 13px; } th { font-weight: 600; }
tr:nth-child(2n) { background: var(--head); }
code, pre { font: 12px/1.45 ui-monospace, "Liberation Mono", "DejaVu Sans Mono", monospace; }
code { padding: .2em .4em; background: var(--code); border-radius: 6px; }
pre { padding: 16px; background: var(--head); border-radius: 6px; overflow: auto; }
pre code { padding: 0; background: none; }
a { color: var(--link); } sub { color: var(--dim); }
</style><article><header><b>perfledger</b> <span>bot</span> commented</header>
<section>COMMENT</section></article>
"""


def take_pictures(
    site_url: str, reports: Mapping[str, PostedReport], folder: Path
) -> tuple[Path, ...]:
    """Write PNGs of each pull request's comment and page in both themes; return their paths.

    Raises DemoError if playwright, cmarkgfm or chromium is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    with running_browser() as browser:
        for theme in THEMES:
            context = browser.new_context(
                color_scheme=theme,
                device_scale_factor=SCALE,
                viewport={"width": WIDTH, "height": HEIGHT},
            )
            page = context.new_page()
            for name, each in reports.items():
                page.set_content(comment_page(each.comment))
                paths.append(_shot(page, folder / f"comment-{name}-{theme}.png", is_whole=True))
                page.goto(each.page, wait_until="networkidle")
                paths.append(_shot(page, folder / f"run-{name}-{theme}.png"))
            page.goto(site_url, wait_until="networkidle")
            paths.append(_shot(page, folder / f"index-{theme}.png"))
            context.close()
    return tuple(paths)


def take_pages(site_url: str, folder: Path) -> tuple[Path, ...]:
    """Write PNGs of every kind of page of a generated history in both themes; return their paths.

    The pages are those of a signed-in person. Raises DemoError if playwright or chromium is
    missing, or if a page lacks the link.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    with running_browser() as browser:
        for theme in THEMES:
            context = browser.new_context(
                color_scheme=theme, viewport={"width": PAGE_WIDTH, "height": PAGE_HEIGHT}
            )
            page = context.new_page()
            page.goto(f"{site_url}/sign-in")
            for name, address in PAGES.items():
                page.goto(site_url + address, wait_until="networkidle")
                for selector in FURTHER_LINKS.get(name, ()):
                    link = page.locator(selector).first
                    page.goto(site_url + str(link.get_attribute("href")), wait_until="networkidle")
                if name == "compare":
                    page.goto(site_url + _comparison(page), wait_until="networkidle")
                if page.locator("#chart").count():  # its script replaces the server's drawing
                    page.locator("#chart canvas").wait_for()
                path = folder / f"{name}-{theme}.png"
                page.screenshot(path=path)
                paths.append(path)
            context.close()
    return tuple(paths)


@contextmanager
def running_browser() -> Generator[Any]:
    """Start the installed Chromium; raise DemoError if it or playwright is missing."""
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - of the dev extra
    except ModuleNotFoundError:
        msg = "playwright is not installed: pictures need the dev extra (pip install -e '.[dev]')"
        raise DemoError(msg) from None
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        msg = "chromium is not installed: pictures need the system package chromium"
        raise DemoError(msg)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


def comment_page(comment: str) -> str:
    """Return an HTML page that shows a comment's Markdown as GitHub would."""
    try:
        import cmarkgfm  # noqa: PLC0415 - of the dev extra
        from cmarkgfm.cmark import Options  # noqa: PLC0415
    except ModuleNotFoundError:
        msg = "cmarkgfm is not installed: pictures need the dev extra (pip install -e '.[dev]')"
        raise DemoError(msg) from None
    body = cmarkgfm.github_flavored_markdown_to_html(comment, Options.CMARK_OPT_UNSAFE)
    return FRAME.replace("COMMENT", body)


def _comparison(page: Any) -> str:
    """Return the address that compares the first two checks that a page links to."""
    links = page.locator("a[href^='/runs/']").all()
    targets = (str(link.get_attribute("href")).partition("#")[0] for link in links)
    base, head, *_ = dict.fromkeys(target.split("/")[2] for target in targets)
    return f"/{REPOSITORY}/compare?a={base}&b={head}"


def _shot(page: Any, path: Path, *, is_whole: bool = False) -> Path:
    width, height = (WIDTH, 1) if is_whole else (PAGE_WIDTH, HEIGHT)
    page.set_viewport_size({"width": width, "height": height})
    page.screenshot(path=path, full_page=is_whole)
    return path
