"""Jobs that comments ask for.

Revision: 0018, after 0017.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.create_table(
        "command_job",
        sa.Column("command_id", sa.Integer(), nullable=False),
        sa.Column("machine_class", sa.String(), nullable=False),
        sa.Column("job_id", sa.String(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["command_id"],
            ["comment_command.id"],
            name=op.f("fk_command_job_command_id_comment_command"),
        ),
        sa.ForeignKeyConstraint(
            ["job_id"], ["runner_job.id"], name=op.f("fk_command_job_job_id_runner_job")
        ),
        sa.PrimaryKeyConstraint("command_id", "machine_class", name=op.f("pk_command_job")),
    )
    op.create_index(op.f("ix_command_job_job_id"), "command_job", ["job_id"])
    with op.batch_alter_table("comment_command") as batch:
        batch.add_column(sa.Column("edition", sa.Integer(), nullable=False, server_default="0"))
    with op.batch_alter_table("runner_job") as batch:
        batch.add_column(sa.Column("metric", sa.String(), nullable=False, server_default=""))
