"""How many devices a job's runner holds at a time.

Revision: 0017, after 0016.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    with op.batch_alter_table("runner_job") as batch:
        batch.add_column(sa.Column("devices", sa.Integer(), nullable=False, server_default="1"))
