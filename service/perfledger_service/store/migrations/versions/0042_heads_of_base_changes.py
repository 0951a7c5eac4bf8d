"""Heads of base changes.

Revision: 0042, after 0041.
"""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    column = sa.Column("changed_head", sa.String(), nullable=False, server_default="")
    op.add_column("pull_request_base", column)
