import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from perfledger_runners.private_folder import (
    PREFIX,
    is_abandoned,
    private_folder,
    remove_abandoned_folders,
)

HOLDER = """
import sys
from perfledger_runners.private_folder import private_folder

with private_folder() as folder:
    (folder / "checkout").mkdir()
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


@pytest.fixture
def holder(temporary):
    assert tempfile.gettempdir() == str(temporary)
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_a_folder_is_the_users_alone_and_gone_at_the_end(temporary):
    with private_folder() as folder:
        assert folder.parent == temporary
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").touch()

    assert not folder.exists()


def test_a_folder_is_gone_after_an_exception_too(temporary):
    with pytest.raises(ZeroDivisionError), private_folder():
        raise ZeroDivisionError

    assert list(temporary.iterdir()) == []


def test_what_a_killed_process_left_is_removed_by_the_next(holder):
    process, left = holder
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (left / "checkout").is_dir()

    with private_folder() as folder:
        assert list(folder.parent.iterdir()) == [folder]
    assert is_abandoned(left / "checkout")


def test_a_folder_that_is_removed_before_it_is_locked_is_made_again(temporary, monkeypatch):
    results = []

    def make_folder(prefix):
        folder = temporary / f"{prefix}{len(results)}"
        results.append(folder)
        if len(results) > 1:  # the first one is gone when its maker opens it
            folder.mkdir(mode=0o700)
        return str(folder)

    monkeypatch.setattr(tempfile, "mkdtemp", make_folder)

    with private_folder() as folder:
        assert (folder, folder.is_dir()) == (results[1], True)


def test_the_folder_of_a_process_that_lives_stays(holder):
    process, folder = holder

    remove_abandoned_folders()

    assert (folder / "checkout").is_dir()
    assert not is_abandoned(folder / "checkout")
    process.communicate("")
    assert not folder.exists()


@pytest.mark.parametrize("name", [f"{PREFIX}notes", "perfledger-abcdefgh", f"{PREFIX}ABCDEFGH"])
def test_a_folder_of_another_name_is_nobodys(temporary, name):
    (temporary / name).mkdir()

    remove_abandoned_folders()

    assert (temporary / name).is_dir()
    assert not is_abandoned(temporary / f"{name}x" / "checkout")


def test_a_link_in_a_folders_place_is_not_followed(temporary, tmp_path_factory):
    theirs = tmp_path_factory.mktemp("theirs")
    (theirs / "file").touch()
    link = temporary / f"{PREFIX}abcdefgh"
    link.symlink_to(theirs)

    remove_abandoned_folders()

    assert link.is_symlink()
    assert (theirs / "file").exists()


def test_a_file_in_a_folders_place_stays(temporary):
    (temporary / f"{PREFIX}abcdefgh").touch()

    remove_abandoned_folders()

    assert (temporary / f"{PREFIX}abcdefgh").exists()
