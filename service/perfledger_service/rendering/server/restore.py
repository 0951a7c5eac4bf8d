"""Presents the result of restoring a backup."""

from perfledger_service.rendering.layout.document import Document, Preformatted
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.rendering.server.backup import backup_tables, manifest_facts
from perfledger_service.values.backups.manifest import RestoredBackup


def restored_document(restored: RestoredBackup) -> Document:
    """Return what the database now contains, and what the service will do first."""
    manifest, number = restored.manifest, restored.unfinished_uploads
    moment = f"{manifest.created_at:%Y-%m-%d at %H:%M} UTC"
    lines = [f"Restored: {quantity(manifest.rows, 'row')}, as on {moment}."]
    if number:
        lines.append(f"Uploads that the service resumes when it starts: {number:,}.")
    return Document(
        name="perfledger-restored",
        facts=manifest_facts(manifest) | {"unfinished_uploads": number},
        blocks=(Preformatted("\n".join(lines)), *backup_tables(manifest.tables)),
    )
