"""Knows which replicas of the service live, by locks that PostgreSQL gives up when they die."""

import logging
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import cast
from uuid import uuid4
from zlib import crc32

from sqlalchemy import Connection, Engine, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

# First key of the advisory locks; the second is the executor's.
_LOCKS = 7177
# A machine that lost its power is noticed after 10 + 3 x 5 seconds, not after PostgreSQL's 2 hours.
_KEEP_ALIVE = (
    "set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3"
)

_log = logging.getLogger(__name__)


class ReplicaLock:
    """The lock that a replica holds while it lives; used by one thread at a time."""

    def __init__(self, engine: Engine) -> None:
        self.executor_id = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:8]}"
        self._engine = engine
        self._connection: Connection | None = None
        self._driver_connection: DBAPIConnection | None = None

    def hold(self) -> None:
        """Take the lock, again if its connection was lost."""
        try:
            if self._connection is not None:
                self._connection.execute(text("select 1"))
                return
        except DBAPIError:
            _log.warning("the connection that holds the replica's lock was lost: it is taken again")
            self.release()
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        connection.detach()  # in the pool it would keep the lock after its release
        self._driver_connection = cast("DBAPIConnection", connection.connection.dbapi_connection)
        connection.execute(text(_KEEP_ALIVE))
        connection.execute(text("select pg_advisory_lock(:all, :key)"), _keys(self.executor_id))
        self._connection = connection

    @contextmanager
    def of_dead(self, executor_id: str) -> Generator[bool]:
        """Hold another replica's lock; False if it is alive, or its work is already taken over.

        The lock must be held with `hold`.
        """
        assert self._connection is not None  # noqa: S101 - as documented
        take = text("select pg_try_advisory_lock(:all, :key)")
        is_dead = bool(self._connection.execute(take, _keys(executor_id)).scalar_one())
        try:
            yield is_dead
        finally:
            if is_dead:
                give_back = text("select pg_advisory_unlock(:all, :key)")
                self._connection.execute(give_back, _keys(executor_id))

    def release(self) -> None:
        """Give the lock back, with its connection."""
        if self._connection is not None:
            with suppress(SQLAlchemyError):  # at once: the server may take a while to notice
                self._connection.execute(text("select pg_advisory_unlock_all()"))
            with suppress(SQLAlchemyError):
                self._connection.close()
            self._connection = None
        if self._driver_connection is not None:
            self._driver_connection.close()  # a lost one is not closed by SQLAlchemy
            self._driver_connection = None


def _keys(executor_id: str) -> dict[str, int]:
    """Return the two keys of an executor's lock, which are signed 32-bit numbers."""
    return {"all": _LOCKS, "key": crc32(executor_id.encode()) - 2**31}
