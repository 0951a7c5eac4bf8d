"""READMEs name the sub-packages and modules that they are about."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SOURCES = ("service", "runners", "baselines", "cost_models")
# Not code of ours to find: files that `perfledger init` writes, Alembic's migrations.
OTHERS = {"init", "migrations", "versions"}
MODULE_TABLE = re.compile(r"^\| module \|", re.MULTILINE)


def readmes() -> Iterator[Path]:
    for source in SOURCES:
        yield from (ROOT / source).rglob("README.md")


def sub_packages() -> Iterator[Path]:
    """Yield the folder of each sub-package."""
    for source in SOURCES:
        for file in (ROOT / source).rglob("*/__init__.py"):
            folder = file.parent
            if (folder.parent / "__init__.py").exists() and not OTHERS & set(folder.parts):
                yield folder


def nearest_readme(folder: Path) -> Path:
    """Return the README of the closest folder above a sub-package."""
    return next(
        parent / "README.md" for parent in folder.parents if (parent / "README.md").exists()
    )


def is_named(folder: Path, readme: Path) -> bool:
    """Return whether a README has the folder's name as code or as the text or goal of a link."""
    path = re.escape(folder.relative_to(readme.parent).as_posix())
    name = re.escape(folder.name)
    return bool(
        re.search(rf"\({path}(/README\.md)?\)|`(\w+/)*{name}/?`", readme.read_text("utf-8"))
    )


def test_every_sub_package_is_named_in_the_nearest_readme():
    unnamed = [
        f"{folder.relative_to(ROOT)} in {readme.relative_to(ROOT)}"
        for folder in sub_packages()
        if not is_named(folder, readme := nearest_readme(folder))
    ]

    assert unnamed == []


def test_a_table_of_modules_has_every_module_of_its_folder():
    absent = [
        str(module.relative_to(ROOT))
        for readme in readmes()
        if MODULE_TABLE.search(text := readme.read_text("utf-8"))
        for module in readme.parent.glob("*.py")
        if module.name != "__init__.py" and f"({module.name})" not in text
    ]

    assert absent == []
