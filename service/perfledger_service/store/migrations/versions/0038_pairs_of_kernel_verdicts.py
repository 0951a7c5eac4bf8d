"""What a verdict on kernels rests on, and where CPU time settled one.

Revision: 0038, after 0037.
"""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table so."""
    with op.batch_alter_table("verdict") as table:
        table.add_column(sa.Column("queued_share", sa.Float(), nullable=True))
        table.add_column(
            sa.Column("profiled_pairs", sa.Integer(), nullable=False, server_default="0")
        )
