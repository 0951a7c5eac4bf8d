"""The modules that have tables: the store's metadata has a table once its module is imported."""

from perfledger_service.store import former_names
from perfledger_service.store.comments import tables as comment_tables
from perfledger_service.store.devices import tables as device_tables
from perfledger_service.store.events import notice_tables, tables as event_tables
from perfledger_service.store.heads import merge_groups, pull_request_bases, reported_progress
from perfledger_service.store.jobs import tables as job_tables
from perfledger_service.store.people import tables as people_tables
from perfledger_service.store.removals import tables as removal_tables
from perfledger_service.store.replicas import write_turns
from perfledger_service.store.reviews import tables as review_tables
from perfledger_service.store.tables import StoreRow

TABLE_MODULES = (
    comment_tables,
    device_tables,
    event_tables,
    former_names,
    notice_tables,
    job_tables,
    merge_groups,
    people_tables,
    pull_request_bases,
    removal_tables,
    reported_progress,
    review_tables,
    write_turns,
)
METADATA = StoreRow.metadata  # of all tables: those modules, and `store.tables`, are imported
