"""The index that uploads are counted by, by status and by conclusion.

Revision: 0021, after 0020.
"""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.drop_index(op.f("ix_upload_status"), "upload")
    op.create_index(op.f("ix_upload_status"), "upload", ["status", "conclusion"])
