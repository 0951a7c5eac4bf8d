"""Machine classes that are to report on a head, and when uploads were measured.

Revision: 0007, after 0006.
"""

import gzip
from datetime import datetime

import msgspec
import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_UPLOAD = sa.table(
    "upload",
    sa.column("id", sa.String()),
    sa.column("bundle_sha256", sa.String()),
    sa.column("created_at", sa.DateTime(timezone=True)),
    sa.column("measured_at", sa.DateTime(timezone=True)),
)
_BUNDLE = sa.table("bundle", sa.column("sha256", sa.String()), sa.column("content", sa.LargeBinary()))


class _MeasuredBundle(msgspec.Struct):
    created_at: datetime


def upgrade() -> None:
    """Add the table of expected classes, and the time of each upload's measurement."""
    op.create_table(
        "expected_class",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("pull_request", sa.Integer(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=False),
        sa.Column("machine_class", sa.String(), nullable=False),
        sa.Column("deadline", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_expected_class_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_expected_class")),
        sa.UniqueConstraint(
            "project_id",
            "pull_request",
            "head_sha",
            "machine_class",
            name=op.f("uq_expected_class_of_head"),
        ),
    )
    op.create_index(op.f("ix_expected_class_deadline"), "expected_class", ["deadline"])
    with op.batch_alter_table("github_post", schema=None) as batch_op:
        batch_op.alter_column("upload_id", existing_type=sa.String(), nullable=True)
    op.add_column("upload", sa.Column("measured_at", sa.DateTime(timezone=True), nullable=True))
    _fill_times()
    with op.batch_alter_table("upload", schema=None) as batch_op:
        batch_op.alter_column(
            "measured_at", existing_type=sa.DateTime(timezone=True), nullable=False
        )


def _fill_times() -> None:
    """Copy each bundle's own time to its upload; an unreadable one keeps that of its arrival."""
    connection = op.get_bind()
    uploads = connection.execute(sa.select(_UPLOAD.c.id, _UPLOAD.c.bundle_sha256, _UPLOAD.c.created_at))
    for upload_id, sha256, created_at in uploads.all():
        content = sa.select(_BUNDLE.c.content).where(_BUNDLE.c.sha256 == sha256)
        measured_at = _measured_at(connection.execute(content).scalar_one()) or created_at
        connection.execute(
            sa.update(_UPLOAD).where(_UPLOAD.c.id == upload_id).values(measured_at=measured_at)
        )


def _measured_at(content: bytes) -> datetime | None:
    try:
        return msgspec.json.decode(gzip.decompress(content), type=_MeasuredBundle).created_at
    except (OSError, EOFError, msgspec.DecodeError, UnicodeDecodeError):
        return None
