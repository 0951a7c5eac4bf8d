"""How much pairs differed, and what of it a verdict leaned on.

Revision: 0002, after 0001.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.create_table(
        "spread",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("upload_id", sa.String(), nullable=False),
        sa.Column("differences", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["series_id"], ["series.id"], name=op.f("fk_spread_series_id_series")
        ),
        sa.ForeignKeyConstraint(
            ["upload_id"], ["upload.id"], name=op.f("fk_spread_upload_id_upload")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_spread")),
        sa.UniqueConstraint("upload_id", "series_id", name=op.f("uq_spread_upload_id_series_id")),
    )
    with op.batch_alter_table("spread", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_spread_series_id"), ["series_id", "id"], unique=False)

    with op.batch_alter_table("verdict", schema=None) as batch_op:
        batch_op.add_column(sa.Column("spread_variance", sa.Float(), nullable=True))
        batch_op.add_column(sa.Column("spread_degrees", sa.Float(), nullable=True))
        batch_op.add_column(sa.Column("spread_source", sa.String(), nullable=True))
        batch_op.add_column(sa.Column("spread_values", sa.Integer(), nullable=True))
