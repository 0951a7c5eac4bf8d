"""Devices have canaries and quarantines, and a job may be for one runner.

Revision: 0035, after 0034.
"""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.create_table(
        "project_device",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("device", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("has_id", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_project_device_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project_device")),
        sa.UniqueConstraint("project_id", "key", name=op.f("uq_project_device_project_id_key")),
    )
    op.create_table(
        "canary_run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("device_id", sa.Integer(), nullable=False),
        sa.Column("bundle_id", sa.String(), nullable=False),
        sa.Column("epoch", sa.Text(), nullable=False),
        sa.Column("is_disturbed", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("measured_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("stored_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["device_id"],
            ["project_device.id"],
            name=op.f("fk_canary_run_device_id_project_device"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_canary_run")),
        sa.UniqueConstraint(
            "device_id", "bundle_id", name=op.f("uq_canary_run_device_id_bundle_id")
        ),
    )
    op.create_index(op.f("ix_canary_run_stored_at"), "canary_run", ["stored_at"], unique=False)
    op.create_table(
        "canary_rate",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("framework", sa.String(), nullable=False),
        sa.Column("setting", sa.String(), nullable=False),
        sa.Column("unit", sa.String(), nullable=False),
        sa.Column("processes", sa.Integer(), nullable=False),
        sa.Column("per_second", sa.Float(), nullable=False),
        sa.Column("expected_per_second", sa.Float(), nullable=True),
        sa.Column("own_count", sa.Integer(), nullable=False),
        sa.Column("own_change", sa.Float(), nullable=True),
        sa.Column("own_detectable", sa.Float(), nullable=True),
        sa.Column("sibling_count", sa.Integer(), nullable=False),
        sa.Column("sibling_change", sa.Float(), nullable=True),
        sa.Column("sibling_detectable", sa.Float(), nullable=True),
        sa.Column("is_slower", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["canary_run.id"], name=op.f("fk_canary_rate_run_id_canary_run")
        ),
        sa.PrimaryKeyConstraint("run_id", "position", name=op.f("pk_canary_rate")),
    )
    op.create_table(
        "quarantine",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("device_id", sa.Integer(), nullable=False),
        sa.Column("canary_run_id", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("set_by", sa.String(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("released_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("released_by", sa.String(), nullable=False),
        sa.Column("release_reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["canary_run_id"],
            ["canary_run.id"],
            name=op.f("fk_quarantine_canary_run_id_canary_run"),
        ),
        sa.ForeignKeyConstraint(
            ["device_id"],
            ["project_device.id"],
            name=op.f("fk_quarantine_device_id_project_device"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quarantine")),
    )
    op.create_index(op.f("ix_quarantine_device_id"), "quarantine", ["device_id"], unique=False)
    op.create_table(
        "quarantined_upload",
        sa.Column("upload_id", sa.String(), nullable=False),
        sa.Column("quarantine_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["quarantine_id"],
            ["quarantine.id"],
            name=op.f("fk_quarantined_upload_quarantine_id_quarantine"),
        ),
        sa.ForeignKeyConstraint(
            ["upload_id"], ["upload.id"], name=op.f("fk_quarantined_upload_upload_id_upload")
        ),
        sa.PrimaryKeyConstraint("upload_id", name=op.f("pk_quarantined_upload")),
    )
    with op.batch_alter_table("runner_job") as table:
        table.add_column(sa.Column("for_runner", sa.String(), server_default="", nullable=False))
