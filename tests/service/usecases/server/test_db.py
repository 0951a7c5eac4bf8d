"""Tests upgrading and opening the service's database."""

import pytest

from perfledger_service.errors import SettingsError
from perfledger_service.usecases.server.db import open_database, upgrade_database
from perfledger_service.usecases.server.imports import list_imports


def test_a_database_is_made_once_and_can_then_be_opened(tmp_path):
    url = f"sqlite:///{tmp_path / 'service.db'}"

    first, second = upgrade_database(url), upgrade_database(url)

    assert first.former_schema is None
    assert second.former_schema == second.schema == first.schema
    with open_database(url) as engine:
        assert list_imports(engine) == ()


def test_a_missing_database_is_not_opened(tmp_path):
    url = f"sqlite:///{tmp_path / 'service.db'}"

    with pytest.raises(SettingsError, match="perfledger server db upgrade"), open_database(url):
        pass
