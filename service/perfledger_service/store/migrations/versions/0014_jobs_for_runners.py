"""The queue of jobs for runners, and the runners that ask for them.

Revision: 0014, after 0013.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.create_table(
        "runner",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("machine_class", sa.String(), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_runner_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runner")),
        sa.UniqueConstraint(
            "project_id",
            "name",
            "machine_class",
            name=op.f("uq_runner_project_id_name_machine_class"),
        ),
    )
    op.create_table(
        "runner_job",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("machine_class", sa.String(), nullable=False),
        sa.Column("base_sha", sa.String(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=False),
        sa.Column("pull_request", sa.Integer(), nullable=True),
        sa.Column("allows_fork", sa.Boolean(), nullable=False),
        sa.Column("workloads", sa.Text(), nullable=False),
        sa.Column("max_pairs", sa.Integer(), nullable=True),
        sa.Column("requested_by", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("runner", sa.String(), nullable=False),
        sa.Column("lease", sa.String(), nullable=False),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("taken_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("device_s", sa.Float(), nullable=False),
        sa.Column("upload_id", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_runner_job_project_id_project")
        ),
        sa.ForeignKeyConstraint(
            ["upload_id"], ["upload.id"], name=op.f("fk_runner_job_upload_id_upload")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runner_job")),
        sa.UniqueConstraint("project_id", "key", name=op.f("uq_runner_job_project_id_key")),
    )
    op.create_index(op.f("ix_runner_job_state"), "runner_job", ["state"])
