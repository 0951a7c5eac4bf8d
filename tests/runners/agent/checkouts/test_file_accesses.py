"""The kernel says which files were read, by whatever process."""

import mmap
import os
import subprocess
from pathlib import Path

import pytest

from perfledger_runners.checkouts.file_accesses import (
    accessed_files,
    loaded_sources,
    records_accesses,
    watch_files,
)


@pytest.fixture
def folder(tmp_path):
    for name in ("a.txt", "b.txt", "deep/c.txt", "__pycache__/m.cpython-311.pyc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("some text")
    (tmp_path / "link").symlink_to("a.txt")
    watch_files(tmp_path)
    return tmp_path


def test_nothing_was_read_at_first(folder):
    assert accessed_files(folder) == frozenset()


def test_facts_of_a_file_are_no_reading(folder):
    assert [path.name for path in (folder / "deep").iterdir()] == ["c.txt"]
    (folder / "a.txt").stat()

    assert accessed_files(folder) == frozenset()


def mapped(path):
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as view:
        return view[0]


@pytest.mark.parametrize(
    "read",
    [
        lambda path: path.read_text(),
        mapped,
        lambda path: subprocess.run(["cat", str(path)], check=True, capture_output=True),
        lambda path: os.read(os.open(path, os.O_RDONLY), 1),
    ],
    ids=["python", "memory map", "child process", "descriptor"],
)
def test_every_way_of_reading_is_seen(folder, read):
    read(folder / "deep" / "c.txt")

    assert accessed_files(folder) == {"deep/c.txt"}


def test_a_watch_that_begins_again_forgets(folder):
    (folder / "a.txt").read_text()
    watch_files(folder)

    assert accessed_files(folder) == frozenset()


def test_a_folder_that_records_accesses_is_told_and_left_as_it_was(folder, monkeypatch):
    before = sorted(folder.rglob("*"))
    assert records_accesses(folder)
    monkeypatch.setattr(Path, "read_bytes", lambda _: b"")  # as if the kernel recorded nothing
    assert not records_accesses(folder)
    assert sorted(folder.rglob("*")) == before


def test_the_source_of_bytecode_that_was_read_is_loaded():
    accesses = frozenset(
        {
            "pkg/__pycache__/core.cpython-311.pyc",
            "__pycache__/test_a.cpython-311-pytest-8.3.4.pyc",
            "pkg/late.py",
            "data.pyc",
        }
    )

    sources = loaded_sources(accesses)

    assert {"pkg/core.py", "test_a.py", "pkg/late.py"} <= sources
    assert "data.py" not in sources
