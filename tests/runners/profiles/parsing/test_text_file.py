import gzip

import pytest

from perfledger_profiles.parsing import text_file
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.gzip_input import unpack_gzip, unpack_gzip_head
from perfledger_profiles.parsing.text_file import BAD_ENCODING, CUT_OFF, read_text


def test_lines_come_without_their_ends():
    assert read_text(b"a\r\nb\n\nc").lines == ["a", "b", "", "c"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_files_of_windows_shells_are_read_too(encoding):
    assert read_text("size \u00b5s\r\n".encode(encoding)).lines == ["size \u00b5s", ""]


def test_bad_characters_are_replaced_and_noted():
    read = read_text(b"a\xff\nb")

    assert read.lines == ["a\ufffd", "b"]
    assert read.notes == (BAD_ENCODING,)


def test_a_binary_file_is_refused():
    with pytest.raises(ProfileError, match="is binary"):
        read_text(b"SQLite format 3\x00")


def test_a_packed_file_is_unpacked():
    assert read_text(gzip.compress(b"a\nb")).lines == ["a", "b"]


def test_of_a_packed_file_that_is_cut_off_the_beginning_is_read():
    noise = "\n".join(str(n * n) for n in range(20_000)).encode()
    packed = gzip.compress(noise, mtime=0)

    read = read_text(packed[: len(packed) // 2])

    assert read.notes == (CUT_OFF,)
    assert 1000 < len(read.lines) < 20_000
    assert read.lines[:3] == ["0", "1", "4"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_file_above_the_limit_is_refused(pack):
    with pytest.raises(ProfileError, match="larger than 99 bytes"):
        read_text(pack(b"x" * 100), max_bytes=99)


def test_a_file_of_more_lines_than_any_is_refused(monkeypatch):
    monkeypatch.setattr(text_file, "MAX_LINES", 2)

    assert len(read_text(b"a\nb\nc").lines) == 3
    with pytest.raises(ProfileError, match="more than 2 lines"):
        read_text(b"a\nb\nc\n")


@pytest.mark.slow(ci_only=True)
def test_a_bomb_is_refused_before_it_is_unpacked():
    with pytest.raises(ProfileError, match="256 times its size"):
        unpack_gzip(gzip.compress(bytes(64 * 2**20)), max_bytes=2**30)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_head_of_a_file_is_unpacked_without_the_rest(pack):
    assert unpack_gzip_head(pack(b"abcdef"), max_bytes=3) == b"abc"


def test_a_damaged_head_is_what_could_be_unpacked():
    assert unpack_gzip_head(b"\x1f\x8b\x08 damaged", max_bytes=3) == b""
