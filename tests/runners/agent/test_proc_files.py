import pytest
from hypothesis import given, strategies as st

from perfledger_runners.proc_files import (
    MAX_BYTES,
    ProcFiles,
    cores_text,
    count,
    parse_cores,
    read_cores,
    read_count,
    read_text,
)


def test_what_cannot_be_read_is_empty(tmp_path):
    (tmp_path / "folder").mkdir()

    assert read_text(tmp_path / "none") == ""
    assert read_text(tmp_path / "folder") == ""
    assert read_text(tmp_path / "a\0b") == ""
    assert read_count(tmp_path / "none") is None
    assert read_cores(tmp_path / "none") == frozenset()


def test_a_file_that_never_ends_is_read_in_part(tmp_path):
    (tmp_path / "huge").write_bytes(b"a" * (MAX_BYTES + 1))

    assert len(read_text(tmp_path / "huge")) == MAX_BYTES


def test_text_that_is_not_utf8_is_still_text(tmp_path):
    (tmp_path / "file").write_bytes(b" caf\xe9\n")

    assert read_text(tmp_path / "file") == "caf\ufffd"


def test_the_folders_are_below_the_roots(tmp_path):
    files = ProcFiles(proc=tmp_path, sys=tmp_path / "sys")

    assert files.cores == tmp_path / "sys/devices/system/cpu"
    assert files.nodes == tmp_path / "sys/devices/system/node"


@pytest.mark.parametrize("text", ["", "-1", "1.5", "²", "max", "9" * 21])
def test_only_whole_numbers_count(text):
    assert count(text) is None


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        ("0", {0}),
        ("0-3,8", {0, 1, 2, 3, 8}),
        ("", set()),
        ("3-1", set()),
        ("0-8192", set()),
        ("0,x", set()),
        ("0-3-5", set()),
    ],
)
def test_a_list_of_cores_is_read_or_unknown(text, cores):
    assert parse_cores(text) == cores


@given(st.frozensets(st.integers(0, 200)))
def test_cores_are_written_as_they_are_read(cores):
    assert parse_cores(cores_text(cores)) == cores


def test_neighbouring_cores_are_a_range():
    assert cores_text([9, 0, 2, 1, 4]) == "0-2,4,9"
