"""Alembic's entry: runs the migrations on the connection that `migrating` hands over."""

from typing import Literal

from alembic import context
from sqlmodel.sql.sqltypes import AutoString

from perfledger_service.store.database import UtcTime
from perfledger_service.store.tables import Row


def plain_type(kind: str, item: object, _: object) -> str | Literal[False]:
    """Write our types down as SQLAlchemy's, so that old migrations do not depend on our code."""
    if kind == "type" and isinstance(item, UtcTime):
        return "sa.DateTime(timezone=True)"
    if kind == "type" and isinstance(item, AutoString):
        return "sa.String()"
    return False


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Row.metadata,
    render_as_batch=True,  # SQLite alters a table by making it anew
    render_item=plain_type,
    transactional_ddl=True,  # SQLite too: our transactions begin before the first statement
)
with context.begin_transaction():
    context.run_migrations()
