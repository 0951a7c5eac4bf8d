"""Runs Alembic's migrations on the connection that `store.upgrade` passes in."""

from typing import Literal

from alembic import context
from sqlmodel.sql.sqltypes import AutoString

from perfledger_service.store.comments import tables as comment_tables
from perfledger_service.store.database import UtcTime
from perfledger_service.store.devices import tables as device_tables
from perfledger_service.store.events import notice_tables, tables as event_tables
from perfledger_service.store.heads import merge_groups
from perfledger_service.store.jobs import tables as job_tables
from perfledger_service.store.people import tables as people_tables
from perfledger_service.store.retention import removal_tables
from perfledger_service.store.reviews import tables as review_tables
from perfledger_service.store.tables import StoreRow

# The metadata has their tables once they are imported.
MODULES = (
    comment_tables,
    device_tables,
    event_tables,
    notice_tables,
    job_tables,
    merge_groups,
    people_tables,
    removal_tables,
    review_tables,
)


def plain_type(kind: str, item: object, _: object) -> str | Literal[False]:
    """Write our types as SQLAlchemy's, so that migrations do not depend on our code."""
    if kind == "type" and isinstance(item, UtcTime):
        return "sa.DateTime(timezone=True)"
    if kind == "type" and isinstance(item, AutoString):
        return "sa.String()"
    return False


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=StoreRow.metadata,
    render_as_batch=True,  # SQLite alters a table by creating it again
    render_item=plain_type,
    transactional_ddl=True,  # SQLite too: our transactions begin before the first statement
)
with context.begin_transaction():
    context.run_migrations()
