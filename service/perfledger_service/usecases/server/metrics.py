"""Counts the contents of the service's database, for its metrics."""

from datetime import datetime

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from perfledger_service.store.database import read_session
from perfledger_service.store.maintenance.service_counts import ServiceCounts, service_counts


def current_counts(engine: Engine, *, now: datetime) -> ServiceCounts | None:
    """Return the counts of the database, None if it does not answer."""
    try:
        with read_session(engine) as session:
            return service_counts(session, now=now)
    except SQLAlchemyError:
        return None
