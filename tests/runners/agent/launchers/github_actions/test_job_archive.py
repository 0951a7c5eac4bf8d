"""Tests archives of jobs, whose code may have written anything into them."""

import io
import zipfile

import pytest

from perfledger_runners.launchers.github_actions import job_archive
from perfledger_runners.launchers.github_actions.job_archive import (
    JobArchive,
    JobArchiveError,
    read_job_archive,
)


def archive_of(method=zipfile.ZIP_DEFLATED, **files):
    """Return an archive of files by their names."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def test_a_job_left_its_exit_status_its_log_and_its_bundle():
    files = {"exit_status": "3\n", "job.log": "words", "bundle.json": "{}", "../evil": "x"}

    assert read_job_archive(archive_of(**files)) == JobArchive(
        exit_status=3, log=b"words", bundle=b"{}"
    )


def test_a_job_that_did_not_come_to_its_end_has_no_exit_status():
    assert read_job_archive(archive_of()) == JobArchive()


def test_a_signal_is_a_negative_exit_status():
    assert read_job_archive(archive_of(exit_status="-9")).exit_status == -9


def test_of_a_long_log_the_end_is_kept(monkeypatch):
    monkeypatch.setattr(job_archive, "MAX_LOG_BYTES", 5)

    assert read_job_archive(archive_of(**{"job.log": "x" * 10 + "words"})).log == b"words"


def test_a_log_that_unpacks_without_end_is_left(monkeypatch):
    monkeypatch.setattr(job_archive, "MAX_UNPACKED_LOG_BYTES", 2**21)

    log = read_job_archive(archive_of(**{"job.log": b"\0" * 2**23})).log

    assert len(log) == job_archive.MAX_LOG_BYTES


@pytest.mark.parametrize(
    "status", ["", "x", "256", "-256", "--1", "1 2", "9" * 5000, "\u0663", "1.0"]
)
def test_an_exit_status_that_is_none_is_refused(status):
    with pytest.raises(JobArchiveError, match="exit_status"):
        read_job_archive(archive_of(exit_status=status))


def test_a_bundle_that_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(job_archive, "MAX_BUNDLE_BYTES", 1000)

    with pytest.raises(JobArchiveError, match="more than 1000 bytes"):
        read_job_archive(archive_of(**{"bundle.json": b"\0" * 1001}))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compression_that_github_does_not_use_is_refused(method):
    with pytest.raises(JobArchiveError, match="in a way that GitHub does not use"):
        read_job_archive(archive_of(method, exit_status="0"))


def test_an_archive_of_very_many_files_is_not_opened():
    files = {str(number): "" for number in range(job_archive.MAX_ENTRIES + 1)}

    with pytest.raises(JobArchiveError, match="more than 1000 files"):
        read_job_archive(archive_of(**files))


@pytest.mark.parametrize("data", [b"", b"PK", b"<html>", b"PK\x05\x06" + b"\xff" * 18])
def test_what_is_no_archive_is_refused(data):
    with pytest.raises(JobArchiveError, match="is damaged"):
        read_job_archive(data)


@pytest.mark.parametrize("offset", [2**40, 2**63, 2**64 - 1])
def test_a_file_that_begins_behind_the_end_is_damage(offset):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("exit_status", "0")
        archive.filelist[0].header_offset = offset

    with pytest.raises(JobArchiveError, match="is damaged"):
        read_job_archive(stream.getvalue())


@pytest.mark.filterwarnings("ignore:Overlapped entries:UserWarning")  # of Python 3.14
def test_an_archive_with_any_byte_changed_is_read_or_refused():
    whole_text = archive_of(**{"exit_status": "0", "job.log": "words", "bundle.json": "{}"})
    for place in range(len(whole_text)):
        for value in (0, 0xFF, whole_text[place] ^ 1):
            try:
                read_job_archive(whole_text[:place] + bytes([value]) + whole_text[place + 1 :])
            except JobArchiveError:
                continue
