"""Commands in comments, and the regressions that they accept.

Revision: 0013, after 0012.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.create_table(
        "acceptance",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("pull_request", sa.Integer(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=False),
        sa.Column("comment_id", sa.BigInteger(), nullable=False),
        sa.Column("login", sa.String(), nullable=False),
        sa.Column("workload", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.Date(), nullable=True),
        sa.Column("merged_sha", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_acceptance_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_acceptance")),
        sa.UniqueConstraint(
            "project_id", "comment_id", name=op.f("uq_acceptance_project_id_comment_id")
        ),
    )
    op.create_table(
        "comment_command",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("pull_request", sa.Integer(), nullable=False),
        sa.Column("comment_id", sa.BigInteger(), nullable=False),
        sa.Column("login", sa.String(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("line", sa.Text(), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_comment_command_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comment_command")),
        sa.UniqueConstraint(
            "project_id", "comment_id", name=op.f("uq_comment_command_project_id_comment_id")
        ),
    )
    op.create_index(op.f("ix_comment_command_status"), "comment_command", ["status"])
