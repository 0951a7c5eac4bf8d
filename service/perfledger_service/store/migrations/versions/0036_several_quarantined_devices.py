"""An upload may be of several devices in quarantine.

Revision: 0036, after 0035.
"""

from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table so."""
    with op.batch_alter_table("quarantined_upload", recreate="auto") as table:
        table.drop_constraint(op.f("pk_quarantined_upload"), type_="primary")
        table.create_primary_key(
            op.f("pk_quarantined_upload"), ["upload_id", "quarantine_id"]
        )
