"""Copies of packages that a real process opens."""

import sys

import pytest

from perfledger.package_code import SourcePackage
from perfledger.process.programs.installed_copies import InstalledCopies, has_package

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's inotify")


class Installed:
    """A folder of installed packages, a user's checkout, and the packages that are its own."""

    def __init__(self, folder):
        self.site, self.users = folder / "lib" / "site-packages", folder / "users"
        self.environment = ""
        for root in (self.site, self.users / "src"):
            for name in ("mine/__init__.py", "mine/sub/deep.py", "mine/data.txt", "alone.py"):
                self.write(root / name)
            self.write(root / "space/part/__init__.py")
        for name in ("mine/__pycache__/a.cpython-311.pyc", "__pycache__/alone.cpython-311.pyc"):
            self.write(self.site / name)

    def write(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")

    def copies(self):
        names = ("mine", "alone", "space.part", "absent")
        return InstalledCopies(
            packages=[SourcePackage(name, "src") for name in names],
            repository=self.users,
            environment=self.environment,
            search_path=["", str(self.site)],
        )

    def opened(self, *paths):
        copies = self.copies()
        copies.watch()
        for path in paths:
            path.read_bytes()
        return copies.opened()


@pytest.fixture
def installed(tmp_path):
    return Installed(tmp_path)


@pytest.mark.parametrize(
    ("path", "copy"),
    [
        ("mine/__init__.py", ("mine", "mine")),
        ("mine/__pycache__/a.cpython-311.pyc", ("mine", "mine")),
        ("alone.py", ("alone", "alone")),
        ("__pycache__/alone.cpython-311.pyc", ("alone", "alone")),
        ("space/part/__init__.py", ("space.part", "space/part")),
        ("mine/data.txt", None),
        ("mine/sub/deep.py", None),
    ],
)
def test_a_copy_whose_code_is_opened_is_named(installed, path, copy):
    opened = installed.opened(installed.site / path)

    assert opened == ({copy[0]: installed.site / copy[1]} if copy else {})


def test_copies_that_nothing_opens_are_not_named(installed):
    assert installed.opened(installed.users / "src/mine/__init__.py") == {}


def test_copies_in_the_sides_environment_are_its_own(installed):
    installed.environment = str(installed.site.parent)

    assert installed.opened(installed.site / "mine/__init__.py") == {}
    assert installed.copies().copy_of("mine") is None


def test_an_editable_installation_leads_to_the_users_checkout(installed):
    for path in (installed.site / "alone.py", installed.site / "__pycache__/alone.cpython-311.pyc"):
        path.unlink()
    assert installed.opened(installed.users / "src/alone.py") == {}
    (installed.site / "mine.pth").write_text(f"{installed.users}/src\n")

    opened = installed.opened(installed.users / "src/alone.py", installed.site / "mine/__init__.py")

    assert opened == {"alone": installed.users, "mine": installed.site / "mine"}


@pytest.mark.parametrize(("name", "is_found"), [("mine", True), ("alone", True), ("none", False)])
def test_packages_and_modules_are_found_by_name(installed, name, is_found):
    assert has_package(installed.site, name) is is_found
