"""Where a project's notices go, and which were sent.

Revision: 0029, after 0028.
"""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.create_table(
        "notice_target",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("is_early", sa.Boolean(), nullable=False),
        sa.Column("is_weekly", sa.Boolean(), nullable=False),
        sa.Column("hourly", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_notice_target_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notice_target")),
        sa.UniqueConstraint(
            "project_id",
            "channel",
            "address",
            name=op.f("uq_notice_target_project_id_channel_address"),
        ),
    )
    op.create_table(
        "notice",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("edition", sa.Integer(), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("event_id", sa.Integer(), nullable=True),
        sa.Column("upload_id", sa.String(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("reference", sa.String(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_notice_project_id_project")
        ),
        sa.ForeignKeyConstraint(
            ["target_id"], ["notice_target.id"], name=op.f("fk_notice_target_id_notice_target")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notice")),
        sa.UniqueConstraint("target_id", "key", name=op.f("uq_notice_target_id_key")),
    )
    with op.batch_alter_table("notice", schema=None) as batch:
        batch.create_index(batch.f("ix_notice_event_id"), ["event_id"])
        batch.create_index(batch.f("ix_notice_project_id"), ["project_id", "status"])
