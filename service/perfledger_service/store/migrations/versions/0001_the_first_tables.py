"""The first tables.

Revision: 0001, after nothing.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.create_table(
        "bundle",
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("unpacked_bytes", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_bundle")),
    )
    op.create_table(
        "env",
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("device_class", sa.String(), nullable=False),
        sa.Column("machine", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_env")),
    )
    op.create_table(
        "project",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("repository_key", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project")),
        sa.UniqueConstraint("repository_key", name=op.f("uq_project_repository_key")),
    )
    op.create_table(
        "revision",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("pos", sa.Integer(), nullable=False),
        sa.Column("sha", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_revision_project_id_project")
        ),
        sa.PrimaryKeyConstraint("project_id", "pos", name=op.f("pk_revision")),
        sa.UniqueConstraint("project_id", "sha", name=op.f("uq_revision_project_id_sha")),
    )
    op.create_table(
        "series",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("workload", sa.String(), nullable=False),
        sa.Column("metric", sa.String(), nullable=False),
        sa.Column("unit", sa.String(), nullable=False),
        sa.Column("worse", sa.String(), nullable=False),
        sa.Column("device_class", sa.String(), nullable=False),
        sa.Column("sample_type", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_series_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_series")),
        sa.UniqueConstraint("project_id", "key", name=op.f("uq_series_project_id_key")),
    )
    op.create_table(
        "token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("prefix", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_token_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token")),
        sa.UniqueConstraint("prefix", name=op.f("uq_token_prefix")),
    )
    with op.batch_alter_table("token", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_token_project_id"), ["project_id"], unique=False)

    op.create_table(
        "upload",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("bundle_sha256", sa.String(), nullable=False),
        sa.Column("env_hash", sa.String(), nullable=False),
        sa.Column("pull_request", sa.Integer(), nullable=True),
        sa.Column("base_sha", sa.String(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=False),
        sa.Column("head_subject", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("conclusion", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("headline", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("judged_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["bundle_sha256"], ["bundle.sha256"], name=op.f("fk_upload_bundle_sha256_bundle")
        ),
        sa.ForeignKeyConstraint(["env_hash"], ["env.hash"], name=op.f("fk_upload_env_hash_env")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_upload_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_upload")),
        sa.UniqueConstraint(
            "project_id", "bundle_sha256", name=op.f("uq_upload_project_id_bundle_sha256")
        ),
    )
    with op.batch_alter_table("upload", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_upload_bundle_sha256"), ["bundle_sha256"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_upload_created_at"), ["created_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_upload_pull_request"), ["pull_request"], unique=False)
        batch_op.create_index(batch_op.f("ix_upload_status"), ["status"], unique=False)

    op.create_table(
        "observation",
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("pos", sa.Integer(), nullable=False),
        sa.Column("upload_id", sa.String(), nullable=False),
        sa.Column("side", sa.String(), nullable=False),
        sa.Column("processes", sa.Integer(), nullable=False),
        sa.Column("center", sa.Float(), nullable=False),
        sa.Column("low", sa.Float(), nullable=False),
        sa.Column("high", sa.Float(), nullable=False),
        sa.Column("samples", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["series_id"], ["series.id"], name=op.f("fk_observation_series_id_series")
        ),
        sa.ForeignKeyConstraint(
            ["upload_id"], ["upload.id"], name=op.f("fk_observation_upload_id_upload")
        ),
        sa.PrimaryKeyConstraint("series_id", "pos", "upload_id", name=op.f("pk_observation")),
        sqlite_with_rowid=False,
    )
    with op.batch_alter_table("observation", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_observation_upload_id"), ["upload_id"], unique=False)

    op.create_table(
        "said",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("pull_request", sa.Integer(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=False),
        sa.Column("upload_id", sa.String(), nullable=False),
        sa.Column("comment_id", sa.BigInteger(), nullable=True),
        sa.Column("check_run_id", sa.BigInteger(), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_said_project_id_project")
        ),
        sa.ForeignKeyConstraint(
            ["upload_id"], ["upload.id"], name=op.f("fk_said_upload_id_upload")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_said")),
        sa.UniqueConstraint(
            "project_id",
            "pull_request",
            "head_sha",
            name=op.f("uq_said_project_id_pull_request_head_sha"),
        ),
    )
    op.create_table(
        "verdict",
        sa.Column("upload_id", sa.String(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("workload", sa.String(), nullable=False),
        sa.Column("metric", sa.String(), nullable=False),
        sa.Column("unit", sa.String(), nullable=False),
        sa.Column("worse", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("scale", sa.String(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("base", sa.Float(), nullable=True),
        sa.Column("head", sa.Float(), nullable=True),
        sa.Column("change", sa.Float(), nullable=True),
        sa.Column("low", sa.Float(), nullable=True),
        sa.Column("high", sa.Float(), nullable=True),
        sa.Column("narrow_low", sa.Float(), nullable=True),
        sa.Column("narrow_high", sa.Float(), nullable=True),
        sa.Column("pairs", sa.Integer(), nullable=True),
        sa.Column("p_value", sa.Float(), nullable=True),
        sa.Column("smallest_detectable", sa.Float(), nullable=True),
        sa.Column("adjusted_p", sa.Float(), nullable=False),
        sa.Column("is_warning", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["upload_id"], ["upload.id"], name=op.f("fk_verdict_upload_id_upload")
        ),
        sa.PrimaryKeyConstraint("upload_id", "place", name=op.f("pk_verdict")),
    )
