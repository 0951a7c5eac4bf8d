"""Indexes find what waits, the imports, and the checks that have a commit as their base.

Revision: 0034, after 0033.
"""

from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the indexes."""
    op.create_index("ix_upload_status_pull_request", "upload", ["status", "pull_request"])
    columns = ["environment_hash", "status", "conclusion"]
    op.create_index("ix_upload_environment_hash", "upload", columns)
    op.create_index("ix_upload_base_sha", "upload", ["base_sha"])
