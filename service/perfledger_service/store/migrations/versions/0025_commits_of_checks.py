"""Checks are found by the start of their head commit.

Revision: 0025, after 0024.
"""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.create_index(op.f("ix_upload_head_sha"), "upload", ["head_sha"])
