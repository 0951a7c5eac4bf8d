"""Lets the replicas of a service write to GitHub in turn.

Whoever holds an installation's row writes, an interval after the last write by the database's
clock. If it dies, or stands still for too long, the next one's turn begins. A limit that a write
met is stored there, so that the others know it before their next write.
"""

import logging
import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime

from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import Field, Session

from perfledger_service.store.database import UtcTime, write_session
from perfledger_service.store.tables import StoreRow, add_if_new
from perfledger_service.values.jobs.write_turn import WriteTurn

# A holder that stands still, or whose machine lost its power, loses its turn. Longer than a write
# with all its attempts.
_MAX_HELD_S = 180
_BOUNDS = (
    f"set local idle_in_transaction_session_timeout = '{_MAX_HELD_S}s'; "
    "set local tcp_keepalives_idle = 10; set local tcp_keepalives_interval = 5; "
    "set local tcp_keepalives_count = 3"
)
_LOCK = text("select 1 from write_turn where installation = :installation for update")
# By the database's clock: those of replicas differ.
_READ = text(
    "select extract(epoch from clock_timestamp() - written_at)::float8,"
    " extract(epoch from closed_until - clock_timestamp())::float8"
    " from write_turn where installation = :installation"
)
_END = text(
    "update write_turn set written_at = clock_timestamp(), closed_until ="
    " greatest(closed_until, clock_timestamp() + make_interval(secs => :closed_s))"
    " where installation = :installation"
)

_log = logging.getLogger(__name__)


class WriteTurnRow(StoreRow, table=True):
    """When an installation of the App was last written to; "" is the App itself, or a token.

    `closed_until` is the end of the last limit that a write met; NULL before the first.
    """

    installation: str = Field(primary_key=True)
    written_at: datetime | None = Field(default=None, sa_type=UtcTime)
    closed_until: datetime | None = Field(default=None, sa_type=UtcTime)


class WriteTurns:
    """The turns of all replicas that share a PostgreSQL database; safe across threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @contextmanager
    def turn(self, installation: str, closed_s: Callable[[], float]) -> Generator[WriteTurn]:
        """Wait for the turn to write and hold it; afterwards, `closed_s` says what limit was met.

        A replica that dies gives it up.
        """
        with write_session(self._engine) as session:
            session.connection().exec_driver_sql(_BOUNDS)
            add_if_new(session, WriteTurnRow, {"installation": installation})
            session.connection().execute(_LOCK, {"installation": installation})
            reading = session.connection().execute(_READ, {"installation": installation})
            idle_s, still_closed_s = reading.one()
            try:
                yield WriteTurn(
                    idle_s=math.inf if idle_s is None else idle_s,
                    closed_s=max(0.0, still_closed_s or 0.0),
                )
            finally:
                _end_turn(session, installation, closed_s())


def _end_turn(session: Session, installation: str, closed_s: float) -> None:
    """Record the write, and give up the turn; what was written stays, whatever happens here."""
    try:
        values = {"installation": installation, "closed_s": closed_s}
        session.connection().execute(_END, values)
        session.commit()
    except SQLAlchemyError as error:
        _log.warning("a write to GitHub is not recorded: %s", type(error).__name__)
