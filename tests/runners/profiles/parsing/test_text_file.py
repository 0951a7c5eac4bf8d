import gzip

import pytest

from perfledger_profiles.parsing import text_file
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.gzip_input import unpack_gzip, unpack_gzip_head
from perfledger_profiles.parsing.text_file import (
    BAD_ENCODING,
    CUT_OFF,
    MAX_LINE_CHARACTERS,
    decoded_lines,
    decoded_text,
    encoding_of,
    read_text,
)


class NoTextError(ValueError):
    """The error that a caller gives."""


def text_of(data):
    return decoded_text(data, "x.csv", error=NoTextError)


@pytest.fixture
def lines_of(tmp_path):
    def read(data):
        path = tmp_path / "text"
        path.write_bytes(data)
        return decoded_lines(path, "x.csv", error=NoTextError)

    return read


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


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_text_is_the_same_in_every_encoding(lines_of, encoding):
    data = "size \u00b5s\r\n\U0001f600".encode(encoding)

    assert text_of(data) == "size \u00b5s\r\n\U0001f600"
    assert list(lines_of(data)) == ["size \u00b5s\r\n", "\U0001f600"]
    assert data.decode(encoding_of(data)) == text_of(data)


def test_utf_16_is_read_in_both_orders_of_its_bytes():
    for order, mark in (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")):
        assert text_of(mark + "a\nb".encode(order)) == "a\nb"


def test_nothing_is_an_empty_text(lines_of):
    assert (text_of(b""), list(lines_of(b""))) == ("", [])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\nb\xff\n", "x.csv, line 2, is not UTF-8 text: save it as UTF-8, or as UTF-16 with a"),
        (b"\xef\xbb\xbfa\n\n\xe9", "x.csv, line 3, is not UTF-8 text"),
        (b"\xff\xfea\0\n\0\0\xd8", "x.csv, line 2, is not UTF-16 text"),
        (b"\xff\xfea", "x.csv, line 1, is not UTF-16 text"),
        ("a\nb".encode("utf-16-le"), "x.csv, line 1, has a NUL character, so it is not text"),
        ("a\nb".encode("utf-32"), "x.csv, line 1, has a NUL character"),
        (b"a\nb\nc\0\n", "x.csv, line 3, has a NUL character"),
    ],
)
def test_what_is_no_text_is_refused_with_file_and_line(lines_of, data, message):
    with pytest.raises(NoTextError, match=f"^{message}"):
        text_of(data)
    with pytest.raises(NoTextError, match=r"^x\.csv(, line \d, has a NUL| is not UTF-.* below)"):
        list(lines_of(data))


def test_lines_before_a_damaged_one_are_read(lines_of):
    data = b"a\n" * 100_000 + b"\xff\n"
    lines = lines_of(data)

    assert next(lines) == "a\n"
    with pytest.raises(NoTextError, match=r"x\.csv is not UTF-8 text below line \d{5}: save"):
        list(lines)


def test_a_line_without_an_end_comes_in_parts(lines_of):
    data = b"x" * (2 * MAX_LINE_CHARACTERS)

    assert max(map(len, lines_of(data))) == MAX_LINE_CHARACTERS + 1
