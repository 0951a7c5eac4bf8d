"""Builds the site from the Markdown pages that are tracked, as GitHub shows them, with Zensical.

    python docs/build_site.py FOLDER

Pages keep their paths, so that links between docs/ and the READMEs of the parts are the same on
GitHub and on the site. The navigation is that of docs/README.md. A warning of Zensical, or a link
of the site that leads nowhere, is an error.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INDEX = Path("docs/README.md")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#:\s]+)((?:#[^)]*)?)\)")
TARGET = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)|(?:src|srcset)=\"([^\":#]+)\"")
REFERENCE = re.compile(r"(?:href|src|srcset)=(?:\"([^\"]*)\"|([^\s>\"]+))")
# Pages of tests and of the examples' pull requests are no documentation.
LEFT_OUT = ("tests/", "examples/branches/", "examples/repository/")


def tracked_files() -> list[Path]:
    """Return the files that git tracks."""
    command = ["git", "ls-files", "-z"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return [Path(name) for name in done.stdout.split("\0") if name]


def copy_pages(folder: Path) -> None:
    """Copy the pages, and the files that they link to."""
    files = tracked_files()
    pages = [file for file in files if file.suffix == ".md" and is_listed(file)]
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        target = folder / page
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(LINK.sub(partial(site_link, page), text), encoding="utf-8")
        for names in TARGET.findall(text):
            file = (ROOT / page.parent / "".join(names)).resolve()
            if file.is_file() and file.suffix != ".md" and file.relative_to(ROOT) in set(files):
                copy = folder / file.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)


def is_listed(page: Path) -> bool:
    """Return whether a page is part of the site."""
    return not str(page).startswith(LEFT_OUT)


def site_link(page: Path, link: re.Match[str]) -> str:
    """Return a link as the site needs it: GitHub lists a folder, and the site cannot."""
    label, name, anchor = link.groups()
    target = (ROOT / page.parent / name).resolve()
    if not target.is_dir():
        is_page = target.suffix != ".md" or is_listed(target.relative_to(ROOT))
        return link[0] if is_page else label
    is_page = (target / "README.md").exists() and is_listed(target.relative_to(ROOT) / "README.md")
    return f"[{label}]({name.rstrip('/')}/README.md{anchor})" if is_page else label


def navigation() -> list[dict[str, object]]:
    """Return the navigation: the sections of docs/README.md with the pages of their tables."""
    text = (ROOT / INDEX).read_text(encoding="utf-8")
    sections: list[dict[str, object]] = [{"perfledger": "README.md"}]
    for section in re.split(r"(?m)^## ", text)[1:]:
        title, _, rest = section.partition("\n")
        rows = re.findall(r"(?m)^\| \[([^\]]+)\]\(([^)#]+)\)", rest)
        pages = [{label[0].upper() + label[1:]: resolved(name)} for label, name in rows]
        sections.append({title: pages})
    return sections


def resolved(name: str) -> str:
    """Return the path of a page that docs/README.md links."""
    return str((ROOT / INDEX.parent / name).resolve().relative_to(ROOT))


def render(folder: Path, navigation: list[dict[str, object]]) -> Path:
    """Make a site of the pages in a folder, and return where it is; exit at a warning."""
    file = folder / "mkdocs.yml"
    configuration = {
        "site_name": "perfledger",
        "docs_dir": "pages",
        "site_dir": "site",
        "use_directory_urls": False,
        # By default pages below templates/ are no part of a site; ours are.
        "exclude_docs": "!/templates/",
        "nav": navigation,
        "theme": {"features": ["navigation.sections", "content.code.copy"], "font": False},
        "markdown_extensions": ["tables", "toc", "md_in_html", "pymdownx.superfences"],
    }
    file.write_text(json.dumps(configuration), encoding="utf-8")  # JSON is YAML
    zensical = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run([*zensical, "--config-file", file], check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    dead = list(dead_links(folder / "site"))
    if dead:
        sys.exit("\n".join(["links that lead nowhere:", *dead]))
    return folder / "site"


def dead_links(site: Path) -> Iterator[str]:
    """Yield each link of a page of the site that leads to no file there."""
    for page in sorted(site.rglob("*.html")):
        if page.name == "404.html":  # is shown at any address, so that its links are absolute
            continue
        for names in REFERENCE.findall(page.read_text(encoding="utf-8")):
            name = "".join(names).partition("#")[0].partition("?")[0]
            if name and ":" not in name and not (page.parent / name).exists():
                yield f"{page.relative_to(site)}: {name}"


def build(folder: Path) -> Path:
    """Build the site below a folder, and return where it is."""
    shutil.rmtree(folder, ignore_errors=True)
    copy_pages(folder / "pages")
    return render(folder, navigation())


if __name__ == "__main__":
    print(build(Path(sys.argv[1]).resolve()))
