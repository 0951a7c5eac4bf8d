"""A file that somebody named, read whole or refused in words that say what to do."""

import gzip
import hashlib
from pathlib import Path

import pytest

from perfledger_service.errors import NotFoundError, TooLargeError, UsageError
from perfledger_service.usecases.inputs.files import (
    NamedBytes,
    errors_about,
    read_bytes,
    read_named,
    read_text,
    sha256_of,
    size_of,
)


def test_a_file_at_its_limit_is_read_and_one_byte_more_is_not(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abcd")

    assert read_bytes(path, most_bytes=4) == b"abcd"
    with pytest.raises(TooLargeError, match="larger than 3 bytes"):
        read_bytes(path, most_bytes=3)


def test_what_is_no_text_is_told_with_its_place(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"ab\xff")

    with pytest.raises(UsageError, match=r"file, line 1, is not UTF-8 text: save it as UTF-8"):
        read_text(path, most_bytes=10)


def test_a_packed_file_is_read_as_it_was(tmp_path):
    path = tmp_path / "log.swf.gz"
    path.write_bytes(gzip.compress(b"; a log"))

    assert read_text(path, most_bytes=100) == "; a log"
    assert read_named(path, most_bytes=100).data == b"; a log"


def test_its_hash_is_that_of_its_bytes(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abcd")

    assert sha256_of(path) == hashlib.sha256(b"abcd").hexdigest()


@pytest.mark.parametrize("read", [size_of, sha256_of, lambda path: read_bytes(path, most_bytes=9)])
def test_a_file_that_is_missing_is_not_found(tmp_path, read):
    with pytest.raises(NotFoundError, match="no file"):
        read(tmp_path / "none")


@pytest.mark.parametrize("read", [sha256_of, lambda path: read_bytes(path, most_bytes=9)])
def test_a_folder_is_no_file(tmp_path, read):
    with pytest.raises(UsageError, match="is a folder: give a file"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("log.csv has no jobs", "logs/log.csv has no jobs"),
        ("'log.csv', line 3: no hour", "'logs/log.csv', line 3: no hour"),
        ("no jobs", "logs/log.csv: no jobs"),
        ("log.csv: no log.csv in it", "logs/log.csv: no log.csv in it"),
        ("my-log.csv has no jobs", "logs/log.csv: my-log.csv has no jobs"),
        ("there is no file logs/log.csv", "there is no file logs/log.csv"),
    ],
)
def test_an_error_about_a_file_has_its_path_as_the_user_gave_it(words, message):
    with pytest.raises(UsageError) as caught, errors_about(Path("logs/log.csv")):
        raise UsageError(words)

    assert str(caught.value) == message


def test_an_error_about_an_imported_file_has_its_name():
    words = "no jobs"
    with pytest.raises(UsageError) as caught, errors_about(NamedBytes("log.csv", b"")):
        raise UsageError(words)

    assert str(caught.value) == "log.csv: no jobs"
