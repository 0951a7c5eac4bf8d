"""Lists and removes the files that were imported into the service."""

from sqlalchemy import Engine

from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.fleet.imports import imports, remove_import
from perfledger_service.values.fleet_views import StoredImport


def list_imports(engine: Engine) -> tuple[StoredImport, ...]:
    """Return the imported files, by kind and source."""
    with read_session(engine) as session:
        return imports(session)


def remove_stored_import(engine: Engine, number: int) -> None:
    """Remove an imported file; raise NotFoundError for an unknown number."""
    with write_session(engine) as session:
        remove_import(session, number)
        session.commit()
