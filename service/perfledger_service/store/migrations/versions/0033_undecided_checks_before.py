"""Each upload keeps how many checks before it were undecided: retention removes their verdicts.

Revision: 0033, after 0032.
"""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns, empty for checks that were judged before."""
    with op.batch_alter_table("gate_check") as table:
        table.add_column(sa.Column("undecided_before", sa.Integer(), nullable=True))
        table.add_column(sa.Column("checks_before", sa.Integer(), nullable=True))
