"""Former names of projects.

Revision: 0040, after 0039.
"""

import sqlalchemy as sa
from alembic import op

revision = '0040'
down_revision = '0039'
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.create_table('former_name',
    sa.Column('repository_key', sa.String(), nullable=False),
    sa.Column('project_id', sa.Integer(), nullable=False),
    sa.ForeignKeyConstraint(['project_id'], ['project.id'], name=op.f('fk_former_name_project_id_project')),
    sa.PrimaryKeyConstraint('repository_key', name=op.f('pk_former_name'))
    )
    op.create_index(op.f('ix_former_name_project_id'), 'former_name', ['project_id'], unique=False)
