"""Posts that wait for another attempt.

Revision: 0010, after 0009.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the times of the next attempt and of the first failure; nothing waits yet."""
    op.add_column("upload", sa.Column("retry_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("upload", sa.Column("failing_since", sa.DateTime(timezone=True), nullable=True))
    op.create_index(op.f("ix_upload_retry_at"), "upload", ["retry_at"])
