"""Bases of pull requests.

Revision: 0041, after 0040.
"""

import sqlalchemy as sa
from alembic import op

revision = '0041'
down_revision = '0040'
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the migration."""
    op.create_table('pull_request_base',
    sa.Column('project_id', sa.Integer(), nullable=False),
    sa.Column('pull_request', sa.Integer(), nullable=False),
    sa.Column('base_ref', sa.String(), nullable=False),
    sa.Column('changed_at', sa.DateTime(timezone=True), nullable=True),
    sa.ForeignKeyConstraint(['project_id'], ['project.id'], name=op.f('fk_pull_request_base_project_id_project')),
    sa.PrimaryKeyConstraint('project_id', 'pull_request', name=op.f('pk_pull_request_base'))
    )
