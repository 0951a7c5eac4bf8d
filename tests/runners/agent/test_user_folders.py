from pathlib import Path

import pytest

from perfledger_runners.user_folders import (
    UserFolderError,
    cache_folder,
    home_folder,
    state_folder,
)


@pytest.fixture
def nobody(monkeypatch):
    """A container's user: no HOME, and no entry in passwd."""

    def no_entry(_):
        raise KeyError

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", no_entry)


@pytest.mark.parametrize(
    ("folder", "variable", "below_home"),
    [
        (state_folder, "XDG_STATE_HOME", ".local/state/perfledger"),
        (cache_folder, "XDG_CACHE_HOME", ".cache/perfledger"),
    ],
)
@pytest.mark.parametrize("value", ["", "relative", "~/state"])
def test_only_an_absolute_path_replaces_what_is_below_home(folder, variable, below_home, value):
    home = Path("/home/ada")

    assert folder({"HOME": str(home)}) == home / below_home
    assert folder({"HOME": str(home), variable: value}) == home / below_home
    assert folder({"HOME": str(home), variable: "/fast"}) == Path("/fast/perfledger")


@pytest.mark.usefixtures("nobody")
def test_a_user_without_a_home_is_told_what_to_set():
    for folder in (home_folder, state_folder, cache_folder):
        with pytest.raises(UserFolderError, match="no home folder: set HOME"):
            folder({})
    assert state_folder({"XDG_STATE_HOME": "/fast"}) == Path("/fast/perfledger")


def test_an_empty_home_is_that_of_the_users_entry(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))

    assert home_folder({"HOME": ""}) == tmp_path
