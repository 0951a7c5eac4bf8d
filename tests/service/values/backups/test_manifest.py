from datetime import UTC, datetime

from perfledger_service.values.backups.manifest import BackupManifest, BackupTable


def test_a_backup_has_the_rows_and_bytes_of_all_its_tables():
    tables = tuple(
        BackupTable(name=name, columns=(), rows=rows, bytes=size, sha256="")
        for name, rows, size in (("project", 2, 70), ("token", 3, 500))
    )
    manifest = BackupManifest(
        format="perfledger-backup",
        format_version=1,
        perfledger_version="0.1.0",
        schema="0021",
        database="sqlite",
        created_at=datetime(2026, 11, 20, tzinfo=UTC),
        tables=tables,
    )

    assert (manifest.rows, manifest.bytes) == (5, 570)
