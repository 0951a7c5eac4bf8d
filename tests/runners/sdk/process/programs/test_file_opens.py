"""Real files that other processes open."""

import ctypes
import os
import subprocess
import sys

import pytest

from perfledger.process.programs.file_opens import MAX_WATCHED, FileOpens

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's inotify")


@pytest.fixture
def folder(tmp_path):
    for name in ("read.py", "unread.py", "deep/read.py", "beside.py"):
        path = tmp_path / "package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return tmp_path / "package"


def test_files_that_another_process_opens_are_noticed(folder):
    opens = FileOpens()
    opens.watch([folder, folder / "absent"])
    subprocess.run(["cat", folder / "read.py", folder / "deep/read.py"], check=True)
    list(folder.iterdir())

    assert opens.opened() == {folder / "read.py"}
    assert opens.opened() == set()
    assert opens.is_complete


def test_a_single_file_is_watched_too(folder):
    opens = FileOpens()
    opens.watch([folder / "read.py", folder / "unread.py"])
    for name in ("read.py", "beside.py"):
        (folder / name).read_text()

    assert opens.opened() == {folder / "read.py"}


def test_only_so_many_paths_are_watched(folder):
    opens = FileOpens()
    paths = [folder / f"{number}" for number in range(MAX_WATCHED)]
    for path in paths:
        path.touch()
    opens.watch([*paths, folder])
    (folder / "read.py").read_text()

    assert opens.opened() == set()
    assert not opens.is_complete


def test_a_step_that_closes_all_files_ends_the_watch(folder):
    opens = FileOpens()
    opens.watch([folder])
    (folder / "read.py").read_text()
    os.close(opens._descriptor)

    assert opens.opened() == set()
    assert not opens.is_complete


def test_a_pipe_that_a_step_opened_in_its_place_is_not_read(folder):
    opens = FileOpens()
    opens.watch([folder])
    place = opens._descriptor
    ends = os.pipe()
    os.dup2(ends[0], place)

    assert opens.opened() == set()
    os.close(place)  # still the step's
    list(map(os.close, ends))


@pytest.mark.parametrize("fault", [AttributeError, OSError])
def test_a_system_without_such_watches_notices_nothing(folder, monkeypatch, fault):
    def no_library(name):
        raise fault(name)

    monkeypatch.setattr(ctypes, "CDLL", no_library)
    opens = FileOpens()
    opens.watch([folder])
    (folder / "read.py").read_text()

    assert opens.opened() == set()
    assert not opens.is_complete


def test_a_user_who_has_no_watches_left_notices_nothing(folder, monkeypatch):
    class Exhausted:
        def inotify_init1(self, _):
            return os.open(folder, os.O_RDONLY)

        def inotify_add_watch(self, *_):
            return -1  # ENOSPC: fs.inotify.max_user_watches

    monkeypatch.setattr(ctypes, "CDLL", lambda _: Exhausted())
    opens = FileOpens()
    opens.watch([folder])

    assert not opens.is_complete
    os.close(opens._descriptor)
