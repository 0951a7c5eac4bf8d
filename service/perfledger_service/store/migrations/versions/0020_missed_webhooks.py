"""Until when GitHub's deliveries of webhooks were read.

Revision: 0020, after 0019.
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.create_table(
        "webhook_poll",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("read_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("polled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("redelivered", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("abandoned", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_poll")),
    )
