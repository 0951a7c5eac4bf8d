"""Dates of commits, and an index of when uploads were measured, by which reviews choose them.

Revision: 0011, after 0010.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column and the index; the dates of earlier commits are not known."""
    op.add_column("revision", sa.Column("committed_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index(op.f("ix_upload_measured_at"), "upload", ["measured_at"])
