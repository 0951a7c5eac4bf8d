"""The number of a notice that was removed is never given again on SQLite, as on PostgreSQL.

Revision: 0031, after 0030.
"""

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make SQLite's table anew, with numbers that only grow."""
    if op.get_bind().dialect.name == "sqlite":
        numbers_grow = {"sqlite_autoincrement": True}
        with op.batch_alter_table("notice", recreate="always", table_kwargs=numbers_grow):
            pass
