"""Reported progress.

Revision: 0043, after 0042.
"""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.create_table(
        "reported_progress",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("pull_request", sa.Integer(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=False),
        sa.Column("machine_class", sa.String(), nullable=False),
        sa.Column("stage", sa.String(), nullable=False),
        sa.Column("workload", sa.String(), nullable=False),
        sa.Column("waiting", sa.Integer(), nullable=False),
        sa.Column("pairs", sa.Integer(), nullable=False),
        sa.Column("max_pairs", sa.Integer(), nullable=False),
        sa.Column("seconds_left", sa.Float(), nullable=True),
        sa.Column("heard_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("posted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("is_silence_posted", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_reported_progress_project_id_project")
        ),
        sa.PrimaryKeyConstraint(
            "project_id",
            "pull_request",
            "head_sha",
            "machine_class",
            name=op.f("pk_reported_progress"),
        ),
    )
    op.create_index(
        op.f("ix_reported_progress_heard_at"), "reported_progress", ["heard_at"], unique=False
    )
