"""Tokens of people.

Revision: 0023, after 0022.
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    with op.batch_alter_table("token", schema=None) as batch_op:
        batch_op.add_column(sa.Column("person_id", sa.Integer(), nullable=True))
        batch_op.create_index(batch_op.f("ix_token_person_id"), ["person_id"], unique=False)
        batch_op.create_foreign_key(
            batch_op.f("fk_token_person_id_person"), "person", ["person_id"], ["id"]
        )
