"""Engines that tests share: an engine compiles each statement once."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, event, make_url

from perfledger_service.store.database import open_engine


class SharedEngines:
    """One engine for each kind of database, which a test connects to its own."""

    def __init__(self) -> None:
        self._engines: dict[str, Engine] = {}

    @contextmanager
    def open(self, url: str) -> Iterator[Engine]:
        """Yield the engine of the database's kind, with connections to this database alone."""
        kind = make_url(url).drivername
        if kind not in self._engines:
            self._engines[kind] = _engine(url)
        engine = self._engines[kind]
        engine.url = make_url(url)
        try:
            yield engine
        finally:  # else the next test would read the database of one that failed
            engine.dispose()


def _engine(url: str) -> Engine:
    engine = open_engine(url)

    def connect(dialect, *_):
        arguments, options = dialect.create_connect_args(engine.url)
        return dialect.connect(*arguments, **options)

    event.listen(engine, "do_connect", connect)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _leave_to_the_system)
    return engine


def _leave_to_the_system(connection, _):
    # No test's database survives a loss of power: a write to it waits for no disk.
    connection.execute("pragma synchronous = off")
