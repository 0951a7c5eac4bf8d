"""Tests listing and removing what was imported."""

import pytest

from perfledger_service.errors import NotFoundError
from perfledger_service.usecases.inputs.files import NamedBytes
from perfledger_service.usecases.inputs.imports import import_file
from perfledger_service.usecases.server.imports import list_imports, remove_stored_import
from perfledger_service.values.fleet_views import ImportKind

USAGE = (
    b"JobID|JobName|User|Account|Submit|Start|End|AllocTRES|State\n"
    b"1|train|ann|nlp|2026-11-01T00:00:00|2026-11-01T00:00:00|2026-11-01T08:00:00"
    b"|gres/gpu=4|COMPLETED\n"
)


def test_an_import_is_listed_until_it_is_removed(engine, now):
    file = NamedBytes(name="usage.csv", data=USAGE)
    stored, _ = import_file(engine, file, kind=ImportKind.USAGE, source="main", now=now)

    assert list_imports(engine) == (stored,)

    remove_stored_import(engine, stored.id)

    assert list_imports(engine) == ()


def test_an_unknown_number_is_not_found(engine):
    with pytest.raises(NotFoundError, match="no import 7"):
        remove_stored_import(engine, 7)
