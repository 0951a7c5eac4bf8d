"""Runs Alembic's migrations on the connection that `store.upgrade` passes in."""

from typing import Literal

from alembic import context
from sqlmodel.sql.sqltypes import AutoString

from perfledger_service.store.database import UtcTime
from perfledger_service.store.maintenance.table_modules import METADATA


def plain_type(kind: str, item: object, _: object) -> str | Literal[False]:
    """Write our types as SQLAlchemy's, so that migrations do not depend on our code."""
    if kind == "type" and isinstance(item, UtcTime):
        return "sa.DateTime(timezone=True)"
    if kind == "type" and isinstance(item, AutoString):
        return "sa.String()"
    return False


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,  # SQLite alters a table by creating it again
    render_item=plain_type,
    transactional_ddl=True,  # SQLite too: our transactions begin before the first statement
)
with context.begin_transaction():
    context.run_migrations()
