"""The table of how long checks held their devices, and which shadow checks were false alarms.

Revision: 0008, after 0007.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.create_table(
        "gate_check",
        sa.Column("upload_id", sa.String(), nullable=False),
        sa.Column("held_s", sa.Float(), nullable=True),
        sa.Column("is_shadow_false_alarm", sa.Boolean(), nullable=True),
        sa.ForeignKeyConstraint(
            ["upload_id"], ["upload.id"], name=op.f("fk_gate_check_upload_id_upload")
        ),
        sa.PrimaryKeyConstraint("upload_id", name=op.f("pk_gate_check")),
    )
