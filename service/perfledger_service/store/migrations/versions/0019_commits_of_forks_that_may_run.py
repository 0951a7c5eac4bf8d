"""Commits of forks that may run.

Revision: 0019, after 0018.
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.create_table(
        "fork_permission",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("pull_request", sa.Integer(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=False),
        sa.Column("login", sa.String(), nullable=False),
        sa.Column("allowed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_fork_permission_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fork_permission")),
        sa.UniqueConstraint(
            "project_id",
            "pull_request",
            "head_sha",
            name=op.f("uq_fork_permission_project_id_pull_request_head_sha"),
        ),
    )
