"""The newest search of each default branch, which its page shows.

Revision: 0024, after 0023.
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.add_column("event_search", sa.Column("content", sa.LargeBinary(), nullable=True))
    version = sa.Column("version", sa.Integer(), nullable=False, server_default="0")
    op.add_column("event_search", version)
