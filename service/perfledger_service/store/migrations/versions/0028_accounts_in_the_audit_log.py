"""Accounts in the audit log, changes that a stored search is of, and no stored sign-ins.

Revision: 0028, after 0027.
"""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.add_column(
        "audit_entry", sa.Column("account", sa.String(), nullable=False, server_default="")
    )
    content_changes = sa.Column("content_changes", sa.Integer(), nullable=False, server_default="0")
    op.add_column("event_search", content_changes)
    op.drop_table("sign_in_attempt")
