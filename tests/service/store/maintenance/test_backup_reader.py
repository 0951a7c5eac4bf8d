"""Tests that what is cut off, changed or forged is refused, and that nothing is written for it."""

import json
import tracemalloc
from hashlib import sha256
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile

import pytest

from perfledger_service.errors import UsageError
from perfledger_service.store.maintenance import backup_reader
from perfledger_service.store.maintenance.backup_reader import open_backup, verify_backup
from perfledger_service.store.maintenance.backup_writer import SIGN_IN_TABLES

HEADER_BYTES = 30 + 20  # of a zip member before its name, and of its size in 64 bits after it


def test_a_whole_backup_is_read(backup):
    manifest = verify_backup(backup)

    assert manifest.rows == len([one for one in manifest.tables if one.name not in SIGN_IN_TABLES])


def test_a_backup_that_was_cut_off_anywhere_is_refused(backup):
    content = backup.read_bytes()
    for share in range(20):
        backup.write_bytes(content[: len(content) * share // 20])
        with pytest.raises(UsageError, match="it is not a backup, or was cut off"):
            verify_backup(backup)


@pytest.mark.slow(ci_only=True)
def test_a_changed_byte_of_a_row_is_found(backup):
    with ZipFile(backup) as archive:
        members = [one for one in archive.infolist() if one.filename != "manifest.json"]
    content = backup.read_bytes()
    for member in members:
        offset = member.header_offset + HEADER_BYTES + len(member.filename) + 5
        backup.write_bytes(content[:offset] + b"\x55\xaa\x55" + content[offset + 3 :])
        with pytest.raises(UsageError):
            verify_backup(backup)


@pytest.mark.parametrize("key", ["sha256", "rows", "bytes"])
def test_a_table_that_is_not_as_the_manifest_has_it_is_refused(forged, key):
    def change(document):
        value = document["tables"][3][key]
        document["tables"][3][key] = value + 1 if isinstance(value, int) else "0" * 64

    with pytest.raises(UsageError, match="not as the manifest has it: the backup was changed"):
        verify_backup(forged(manifest=change))


@pytest.mark.parametrize(
    "name", ["../../etc/cron.d/evil", "/etc/passwd", "tables/../evil", "tables/other.ndjson"]
)
def test_a_member_that_the_manifest_lacks_is_refused_and_written_nowhere(forged, name, tmp_path):
    path = forged({name: b"[]\n"})
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(UsageError, match="other members than its manifest"):
        verify_backup(path)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_member_that_is_missing_or_there_twice_is_refused(forged):
    path = forged({"tables/project.ndjson": None})
    with pytest.raises(UsageError, match="other members than its manifest"):
        verify_backup(path)
    with (
        ZipFile(path, "a") as archive,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        archive.writestr("tables/token.ndjson", b"")
    with pytest.raises(UsageError, match="other members than its manifest"):
        verify_backup(path)


def bomb(path, *, mebibytes):
    """Replace a table by one line of zeros, with a manifest of the same size."""
    with ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(members["manifest.json"])
    (table,) = (one for one in document["tables"] if one["name"] == "project")
    digest = sha256()
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        with archive.open("tables/project.ndjson", "w") as member:
            for _ in range(mebibytes):
                member.write(bytes(1024**2))
                digest.update(bytes(1024**2))
        table |= {"bytes": mebibytes * 1024**2, "rows": 1, "sha256": digest.hexdigest()}
        members["manifest.json"] = json.dumps(document).encode()
        for name, content in members.items():
            if name != "tables/project.ndjson":
                archive.writestr(name, content)


@pytest.mark.slow
def test_a_bomb_of_one_row_is_refused_before_it_fills_the_memory(backup, monkeypatch):
    monkeypatch.setattr(backup_reader, "MAX_ROW_BYTES", 1024**2)
    bomb(backup, mebibytes=32)
    tracemalloc.start()
    with pytest.raises(UsageError, match="has a row of more than 1048576 bytes"):
        verify_backup(backup)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert backup.stat().st_size < 100_000
    assert peak < 8 * 1024**2


def test_a_table_is_read_no_further_than_the_manifest_says(forged):
    path = forged({"tables/project.ndjson": b"[]\n" * 1_000_000})
    with pytest.raises(UsageError, match="a row is not one of"):
        verify_backup(path)
    with open_backup(path) as backup:
        (table,) = (one for one in backup.manifest.tables if one.name == "token")
        rows = backup.rows(table)
        assert len(list(rows)) == 1


def test_a_manifest_that_is_too_large_is_refused(forged):
    with pytest.raises(UsageError, match="manifest cannot be read"):
        verify_backup(forged({"manifest.json": b" " * 2 * 1024**2}))


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b"[" * 100_000, b"null"])
def test_a_manifest_of_something_else_is_refused(forged, content):
    with pytest.raises(UsageError, match="manifest cannot be read"):
        verify_backup(forged({"manifest.json": content}))


def test_a_zip_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "photos.zip"
    with ZipFile(path, "w") as archive:
        archive.writestr("photo.jpg", b"")
    with pytest.raises(UsageError, match="this is not a backup: it has no manifest"):
        verify_backup(path)


def test_a_format_that_is_newer_is_refused(forged):
    path = forged(manifest=lambda document: document.update(format_version=2))
    with pytest.raises(UsageError, match="of another format: restore it with the version"):
        verify_backup(path)


def test_other_compressions_are_refused(backup):
    with ZipFile(backup) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with ZipFile(backup, "w", ZIP_BZIP2) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(UsageError, match="encrypted members, or of a compression"):
        verify_backup(backup)


def test_an_encrypted_manifest_is_refused(backup):
    content = bytearray(backup.read_bytes())
    place = content.rfind(b"PK\x01\x02")  # the last member's entry in the directory
    content[place + 8] |= 1
    backup.write_bytes(content)
    with pytest.raises(UsageError, match="manifest cannot be read"):
        verify_backup(backup)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"cannot read .*none.zip: No such file"):
        verify_backup(tmp_path / "none.zip")
