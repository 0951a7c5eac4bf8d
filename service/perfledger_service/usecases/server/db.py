"""Opens the service's database, and upgrades it."""

from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy import Engine

from perfledger_service.store.upgrade import open_current, upgrade
from perfledger_service.values.storage.schema_upgrade import SchemaUpgrade


def upgrade_database(url: str) -> SchemaUpgrade:
    """Upgrade the database at a SQLAlchemy URL to the newest version; make a missing one."""
    return upgrade(url)


@contextmanager
def open_database(url: str) -> Generator[Engine]:
    """Open the database at a SQLAlchemy URL; raise SettingsError unless it is up to date."""
    with open_current(url) as engine:
        yield engine
