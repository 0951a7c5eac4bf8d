"""Turns to write to GitHub.

Revision: 0039, after 0038.
"""

import sqlalchemy as sa
from alembic import op

revision = '0039'
down_revision = '0038'
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.create_table('write_turn',
    sa.Column('installation', sa.String(), nullable=False),
    sa.Column('written_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('closed_until', sa.DateTime(timezone=True), nullable=True),
    sa.PrimaryKeyConstraint('installation', name=op.f('pk_write_turn'))
    )
