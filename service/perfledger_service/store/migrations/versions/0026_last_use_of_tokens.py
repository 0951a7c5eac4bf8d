"""When each token was last used.

Revision: 0026, after 0025.
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.add_column("token", sa.Column("used_at", sa.DateTime(timezone=True), nullable=True))
