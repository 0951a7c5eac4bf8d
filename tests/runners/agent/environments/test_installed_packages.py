"""Folders of packages as installers leave them."""

import json

import pytest

from perfledger_runners.environments.installed_packages import (
    distribution_contents,
    distribution_versions,
    installed_packages,
)

FILES = "mine/__init__.py,sha256=abc,10\nmine/core.so,sha256=def,20\n"


@pytest.fixture
def install(tmp_path):
    """Return a function that installs a package and returns its folder."""

    def make(name, version, files=None, folder="site"):
        record = tmp_path / folder / f"{name}-{version}.dist-info"
        record.mkdir(parents=True)
        if files is not None:
            (record / "RECORD").write_text(files)
        return str(tmp_path / folder)

    return make


def test_the_first_package_of_a_name_is_the_one_that_is_imported(install):
    folders = (install("My_Pkg", "1"), install("my_pkg", "2", folder="later"))

    assert distribution_versions(folders) == {"my-pkg": "1"}


def test_a_content_is_what_the_package_consists_of_not_its_version_or_its_place(install):
    of_first = f"{FILES}mine-1.dist-info/METADATA,sha256=1,1\n../../bin/mine,sha256=1,9\n"
    of_second = f"mine-2.dist-info/METADATA,sha256=2,1\n{FILES}mine/__pycache__/core.pyc,,\n"
    first, second = install("mine", "1", of_first), install("mine", "2", of_second, folder="other")
    changed = install("mine", "1", FILES.replace("def", "fed"), folder="changed")

    one, same, other = (distribution_contents([each]) for each in (first, second, changed))

    assert one.keys() == {"mine"}
    assert one == same
    assert one != other


def test_without_a_list_of_files_the_content_is_unknown(install):
    assert distribution_contents([install("mine", "1")]) == {}
    assert installed_packages([install("other", "2")], ()) == {"mine": "1", "other": "2"}


@pytest.mark.parametrize("line", ["mine/more.py,,10", "mine/more.py,,", "mine/more.py"])
def test_a_file_without_a_hash_leaves_the_content_unknown(install, line):
    """Other files of the same name and length have the same line."""
    assert distribution_contents([install("mine", "1", f"{FILES}{line}\n")]) == {}


def test_packages_are_named_with_their_versions_and_contents(install, tmp_path):
    folder = install("mine", "1", FILES)
    (tmp_path / "site" / "Legacy-0.5-py3.12.egg-info").touch()
    records = tmp_path / "conda-meta"
    records.mkdir()
    (records / "blas-1.0-mkl.json").write_text(json.dumps({}))

    packages = installed_packages([folder], [tmp_path])

    (content,) = distribution_contents([folder]).values()
    assert packages == {"mine": f"1 ({content})", "legacy": "0.5-py3.12", "blas": "1.0"}
