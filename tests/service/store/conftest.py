"""Empty databases to upgrade."""

import pytest

from perfledger_service.store.database import open_engine


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def empty_url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.db'}"
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def empty_engine(empty_url):
    engine = open_engine(empty_url)
    yield engine
    engine.dispose()
