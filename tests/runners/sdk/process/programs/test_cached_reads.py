"""Real files in caches that a step reads."""

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from perfledger.process.programs.cached_reads import MAX_FILES, CachedReads


@pytest.fixture
def cache(tmp_path):
    folder = tmp_path / "cache" / "mypkg"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def watched(tmp_path, cache):
    """Return a function that returns the names of the files in caches that a task reads."""

    def read(task, *, began=None, own="checkout"):
        hooks = []
        began = time.time() + 60 if began is None else began
        reads = CachedReads(own_folders=[tmp_path / own], caches=[cache.parent], began=began)
        reads.watch(hooks.append)
        (hear,) = hooks
        task(hear)
        return {each.name: each for each in reads.files()}

    return read


def opens(path, flags=os.O_RDONLY):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return lambda hear: hear("open", (str(path), None, flags))


def test_a_file_of_another_process_in_a_cache_is_listed_without_its_content(watched, cache):
    file = watched(opens(cache / "squares.pickle"))["squares.pickle"]

    assert (file.folder, file.is_own, file.digest, file.compiled) == (str(cache), False, "", ())


def test_what_this_process_wrote_is_its_own(watched, cache):
    assert watched(opens(cache / "squares.pickle"), began=time.time() - 60) == {}


def test_a_file_that_is_gone_or_in_a_locked_folder_is_left_out(watched, cache, monkeypatch):
    def refuse(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    gone, locked = opens(cache / "gone.bin"), opens(cache / "locked.bin")
    (cache / "gone.bin").unlink()
    assert watched(gone) == {}
    monkeypatch.setattr(Path, "stat", refuse)
    assert watched(locked) == {}


@pytest.mark.parametrize("flags", [os.O_WRONLY, os.O_WRONLY | os.O_APPEND])
def test_a_file_that_is_only_written_is_not_read(watched, cache, flags):
    assert watched(opens(cache / "log.txt", flags)) == {}


def test_a_file_that_is_changed_in_place_is_read(watched, cache):
    assert watched(opens(cache / "table.bin", os.O_RDWR))


@pytest.mark.parametrize(
    "name",
    [
        "elsewhere/rows.txt",
        "cache/checkout/rows.txt",
        "cache/torchinductor_me/a.py",
        "cache/perfledger-check-1/request.json",
    ],
)
def test_files_of_the_side_of_compilers_and_of_the_harness_are_none(watched, tmp_path, name):
    assert watched(opens(tmp_path / name), own="cache/checkout") == {}


def test_a_file_that_is_gone_is_none(watched, cache):
    assert watched(lambda hear: hear("open", (str(cache / "gone"), "r", os.O_RDONLY))) == {}


def test_a_database_is_listed_though_this_process_writes_to_it(watched, cache):
    def connect(hear):
        with closing(sqlite3.connect(cache / "steps.db")) as database:
            database.execute("create table steps (number int)")
        hear("sqlite3.connect", (str(cache / "steps.db"),))

    assert list(watched(connect, began=0.0)) == ["steps.db"]


def test_descriptors_and_other_events_are_nothing(watched):
    def act(hear):
        hear("open", (3, "r", os.O_RDONLY))
        hear("import", ("numpy", None, None, None, None))
        hear("open", ())

    assert watched(act) == {}


def test_files_of_one_name_and_many_files_are_listed_in_part(watched, cache):
    def read(hear):
        for number in range(2 * MAX_FILES):
            for folder in ("a", "b"):
                opens(cache / folder / f"{number}.txt")(hear)

    assert len(watched(read)) == MAX_FILES


def test_pythons_own_events_are_heard_until_the_end(cache):
    (cache / "rows.txt").write_text("17")
    (cache / "later.txt").write_text("17")
    reads = CachedReads(own_folders=[], caches=[cache.parent], began=time.time() + 60)
    reads.watch()
    (cache / "rows.txt").read_text()
    listed = reads.files()
    (cache / "later.txt").read_text()

    assert [each.name for each in listed] == ["rows.txt"]
    assert [each.name for each in reads.files()] == ["rows.txt"]
