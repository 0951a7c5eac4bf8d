"""Who approved what a commit costs.

Revision: 0004, after 0003.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.create_table(
        "approval",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("pull_request", sa.Integer(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=False),
        sa.Column("comment_id", sa.BigInteger(), nullable=False),
        sa.Column("login", sa.String(), nullable=False),
        sa.Column("is_author", sa.Boolean(), nullable=False),
        sa.Column("usd_per_year", sa.String(), nullable=False),
        sa.Column("covers_unpriced", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("said_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.Date(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_approval_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approval")),
        sa.UniqueConstraint(
            "project_id", "comment_id", name=op.f("uq_approval_project_id_comment_id")
        ),
    )
    with op.batch_alter_table("approval", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_approval_project_id"),
            ["project_id", "pull_request", "head_sha"],
            unique=False,
        )
