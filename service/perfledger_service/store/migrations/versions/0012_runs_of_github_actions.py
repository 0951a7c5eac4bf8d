"""Uploads by runs of GitHub Actions, and tokens that expire.

Revision: 0012, after 0011. Earlier tokens may upload and never expire, as until now.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.create_table(
        "actions_token",
        sa.Column("jti", sa.String(), nullable=False),
        sa.Column("bundle_sha256", sa.String(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("jti", name=op.f("pk_actions_token")),
    )
    op.create_index(op.f("ix_actions_token_expires_at"), "actions_token", ["expires_at"])
    with op.batch_alter_table("project", schema=None) as batch_op:
        batch_op.add_column(sa.Column("actions_repository_id", sa.BigInteger(), nullable=True))
        batch_op.add_column(sa.Column("actions_owner_id", sa.BigInteger(), nullable=True))
        batch_op.add_column(
            sa.Column("actions_branch", sa.String(), nullable=False, server_default="")
        )
        batch_op.create_unique_constraint(
            op.f("uq_project_actions_repository_id"), ["actions_repository_id"]
        )
    op.add_column(
        "token", sa.Column("scope", sa.String(), nullable=False, server_default="upload")
    )
    op.add_column("token", sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column(
        "upload", sa.Column("sender", sa.String(), nullable=False, server_default="runner")
    )
