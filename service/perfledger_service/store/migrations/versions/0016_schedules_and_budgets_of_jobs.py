"""When default branches are measured, and what jobs may cost in a week.

Revision: 0016, after 0015.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.create_table(
        "job_budget",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("device_minutes", sa.Float(), nullable=True),
        sa.Column("usd", sa.Float(), nullable=True),
        sa.Column("usd_per_device_hour", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_job_budget_project_id_project")
        ),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_job_budget")),
    )
    op.create_table(
        "job_schedule",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("machine_class", sa.String(), nullable=False),
        sa.Column("hour", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_job_schedule_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_schedule")),
        sa.UniqueConstraint(
            "project_id",
            "kind",
            "machine_class",
            name=op.f("uq_job_schedule_project_id_kind_machine_class"),
        ),
    )