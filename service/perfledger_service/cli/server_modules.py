"""Opens the service's database, or explains what to install."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from perfledger_service.errors import PerfledgerError

if TYPE_CHECKING:  # this would make every help slow
    from sqlalchemy import Engine

MISSING = "the service is not installed here: pip install 'perfledger[service]'"


@contextmanager
def server_modules() -> Generator[None]:
    """Turn a missing dependency of the service into an error that says what to install.

    If a module of ours is missing, that is a bug and is raised unchanged.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("perfledger"):
            raise
        raise PerfledgerError(MISSING) from error


@contextmanager
def open_store() -> "Generator[Engine]":
    """Open the service's database at its newest version."""
    with server_modules():
        from perfledger_service.usecases.server.db import open_database
    from perfledger_service.settings.service import service_settings

    with open_database(service_settings().database_url) as engine:
        yield engine
