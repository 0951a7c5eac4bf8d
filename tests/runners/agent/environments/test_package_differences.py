"""Real builds of both sides, from an index whose versions change between or during checks."""

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from perfledger.records import FailureReason, Side
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.measuring.rounds.progress import NoProgress
from perfledger_service.usecases.check.checkouts import check_out_revisions
from perfledger_service.usecases.check.revisions import configuration_of, resolve_revisions

pytestmark = pytest.mark.slow

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
# Installs the index's version of a package into the environment that is active.
INSTALL = 'mkdir "$(echo $VIRTUAL_ENV/lib/python3.*/site-packages)/slowdep-{}.dist-info"'


class NoStages(NoProgress):
    def stage(self, name):
        pass


class Project:
    """A repository with a built environment, and the index that it is built from."""

    def __init__(self, root, index, build):
        self.root, self.index = root, index
        self.git("init", "-q", "-b", "main")
        self.write("perfledger.toml", f"python = '{sys.executable}'\nbuild = '''{build}'''\n")
        self.commit("requirements.txt", "slowdep\n")

    def git(self, *arguments):
        subprocess.run(["git", *IDENTITY, *arguments], cwd=self.root, check=True)

    def write(self, path, text):
        (self.root / path).write_text(text)

    def commit(self, path, text):
        self.write(path, text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", path)

    @contextmanager
    def check(self):
        repository = Repository.open(self.root)
        sides = resolve_revisions(repository, base="", head="")
        configuration = configuration_of(repository, sides, flags={})
        with check_out_revisions(repository, sides, configuration, NoStages()) as site:
            yield site

    def versions(self):
        """Return the versions of both sides in a check, its notes and its failures."""
        with self.check() as site:
            versions = [
                next(_installed(request.environment)).partition("-")[2].removesuffix(".dist-info")
                for request in (site.requests[side] for side in Side)
            ]
            return versions, site.code.build_notes + site.notes, site.code.failures


def _installed(environment):
    return (each.name for each in Path(environment).rglob("slowdep-*"))


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def make(build):
        root, index, script = (tmp_path / name for name in ("repository", "index", "install"))
        root.mkdir()
        index.write_text("1")
        script.write_text(build.format(index=index))
        return Project(root, index, f". {script}")

    return make


LATEST = INSTALL.format("$(cat {index})")
# An index that has a new version for each build.
RESTLESS = f"{LATEST} && echo $(($(cat {{index}}) + 1)) > {{index}}"
# Each build has a new version, and the code of the checkout, which its installer lists.
STAMPED = (
    f"{RESTLESS} && for each in $VIRTUAL_ENV/lib/python3.*/site-packages/slowdep-*.dist-info; "
    'do echo "slowdep.py,sha256=$(cksum < code.py | cut -d" " -f1),1" > $each/RECORD; done'
)


def test_an_older_environment_is_built_again_when_the_index_has_moved_on(project):
    mine = project(LATEST)
    mine.write("code.py", "1")
    assert mine.versions() == (["1", "1"], (), {})
    mine.index.write_text("2")
    mine.write("code.py", "2")

    versions, (note,), failures = mine.versions()

    assert (versions, failures) == (["2", "2"], {})
    assert note == (
        "the environment of base was built again: it was built before this check, and differed in "
        "slowdep, which no changed file explains"
    )
    assert mine.versions() == (["2", "2"], (), {})  # from the cache


def test_environments_that_differ_however_often_they_are_built_are_not_compared(project):
    mine = project(RESTLESS)
    mine.write("code.py", "1")

    with mine.check() as site:
        (failure,) = site.code.failures.values()
        discovery = site.code.discover(site.harness, Side.HEAD)

    assert site.code.failures.keys() == {Side.HEAD}
    assert str(failure) == (
        "the environments of base and head have other versions of packages, although the files "
        "that name packages are the same (slowdep 3 and 2): pin exact versions, in a lock file or "
        "in the requirements, and check again; slowdep differs between two builds of the same "
        "commit: if it is built from this repository, install it from its folder (`pip install "
        "./FOLDER`), or build it with a version and files that do not depend on the time"
    )
    assert [each.reason for each in discovery.broken] == [FailureReason.PACKAGES]


def test_a_changed_build_script_explains_other_packages(project):
    mine = project("sh install.sh")
    mine.commit("install.sh", INSTALL.format("1"))
    mine.write("install.sh", INSTALL.format("2"))

    versions, notes, failures = mine.versions()

    assert (versions, failures) == (["1", "2"], {})
    assert notes == ("installed packages differ on head: slowdep 1 \N{RIGHTWARDS ARROW} 2",)


def test_a_changed_requirement_explains_its_package(project):
    mine = project(INSTALL.format("$(cut -d= -f3 requirements.txt)"))
    mine.commit("requirements.txt", "slowdep==1")
    mine.write("requirements.txt", "slowdep==2")

    versions, notes, failures = mine.versions()

    assert (versions, failures) == (["1", "2"], {})
    assert notes == ("installed packages differ on head: slowdep 1 \N{RIGHTWARDS ARROW} 2",)


def test_what_a_changed_requirement_does_not_name_is_brought_up_to_date(project):
    mine = project(LATEST)
    mine.write("requirements.txt", "slowdep\nother==1\n")
    mine.versions()
    mine.index.write_text("2")
    mine.write("requirements.txt", "slowdep\nother==2\n")

    versions, _, failures = mine.versions()

    assert (versions, failures) == (["2", "2"], {})


@pytest.fixture
def counted(project, tmp_path):
    """Return a function that makes a project, and another one that counts its builds."""
    log = tmp_path / "builds"

    def make(build):
        return project(f"{build} && echo built >> {log}"), lambda: len(log.read_text().split())

    return make


def test_what_a_changed_requirement_requires_is_built_once(counted):
    mine, builds = counted(INSTALL.format("$(cut -d= -f3 requirements.txt)"))
    mine.commit("requirements.txt", "other==1")  # which requires slowdep
    mine.write("requirements.txt", "other==2")

    first, second = mine.versions(), mine.versions()
    of_two_checks = builds()
    mine.write("code.py", "1")
    third = mine.versions()

    assert first == second == third
    assert first[0] == ["1", "2"]
    assert (of_two_checks, builds()) == (2, 3)  # head's code is new, and base is as it was


def test_a_package_whose_version_is_the_time_of_its_build_is_compared_by_its_files(counted):
    mine, builds = counted(STAMPED)
    mine.commit("code.py", "1")
    mine.write("other.py", "2")

    versions, _, failures = mine.versions()

    assert (versions, failures, builds()) == (["1", "2"], {}, 2)


def test_a_package_that_is_built_from_changed_code_is_of_the_change(counted):
    mine, builds = counted(STAMPED)
    mine.commit("code.py", "1")
    mine.write("code.py", "2")

    first, _, failures = mine.versions()
    again, _, _ = mine.versions()

    assert (first, failures) == (["3", "2"], {})  # base was built once more, with the same files
    assert (again, builds()) == (first, 3)
