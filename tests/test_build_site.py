"""The site of the documentation: it builds without a warning, and holds every page."""

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
# Pages that another page lists.
PARTS = (DOCS / "reference" / "commands", DOCS / "reference" / "limits")


@pytest.fixture(scope="module")
def build_site():
    """docs/build_site.py, which is no part of a package."""
    sys.path.insert(0, str(DOCS))
    yield importlib.import_module("build_site")
    sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def site(build_site, tmp_path_factory):
    return build_site.build(tmp_path_factory.mktemp("site"))


@pytest.mark.slow(ci_only=True)
def test_the_site_has_every_page_and_loads_nothing_from_elsewhere(site):
    pages = {path.relative_to(DOCS) for path in DOCS.rglob("*.md")}
    built = {path.relative_to(site / "docs") for path in (site / "docs").rglob("*.html")}
    texts = [path.read_text(encoding="utf-8") for path in site.rglob("*.html")]

    renamed = {page.parent / page.name.replace("README.md", "index.html") for page in pages}
    assert {page.with_suffix(".html") for page in renamed} <= built
    assert "Performance-regression CI" in (site / "index.html").read_text(encoding="utf-8")
    assert not [text for text in texts if re.search(r"(?:<script|<img)[^>]*src=\"?https?:", text)]


def test_the_list_of_pages_has_every_page_of_the_documentation(build_site):
    sections = build_site.navigation()
    listed = {
        page
        for section in sections[1:]
        for pages in section.values()
        for entry in pages
        for page in entry.values()
    }
    pages = {path for path in DOCS.rglob("*.md") if path.parent not in PARTS}
    pages |= {folder / "README.md" for folder in PARTS}

    assert {str(path.relative_to(ROOT)) for path in pages} - listed == {"docs/README.md"}


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize(
    "link", ["[a](nothing.md)", "[b](#nowhere)", "[c](none.yaml)", "![d](none.png)"]
)
def test_a_link_that_leads_nowhere_ends_the_build(build_site, tmp_path, link):
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "README.md").write_text(f"# Title\n\n{link}\n", encoding="utf-8")

    with pytest.raises(SystemExit):
        build_site.render(tmp_path, [{"a": "README.md"}])


def test_a_link_to_a_folder_leads_to_its_page_or_is_text(build_site):
    page = Path("service/README.md")

    def changed(text):
        return build_site.LINK.sub(lambda link: build_site.site_link(page, link), text)

    assert changed("[w](perfledger_service/web)") == "[w](perfledger_service/web/README.md)"
    assert changed("[`c`](perfledger_service/github)") == "`c`"
    assert changed("[s](Containerfile)") == "[s](Containerfile)"
    assert changed("[t](../tests/README.md)") == "t"
