"""Where the workflow engine keeps its tables."""

import pytest

from perfledger_service.workflow_database import workflow_database_url, workflow_tables


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:///perfledger.db", "sqlite:///perfledger-jobs.db"),
        ("sqlite:////srv/a.b/perfledger.db", "sqlite:////srv/a.b/perfledger-jobs.db"),
        ("sqlite:////srv/a.b/perfledger", "sqlite:////srv/a.b/perfledger-jobs"),
        ("postgresql+psycopg://u@h/db", "postgresql+psycopg://u@h/db"),
    ],
)
def test_the_engine_keeps_its_tables_apart(url, expected):
    assert workflow_database_url(url) == expected


def test_an_engine_that_never_ran_has_no_tables(tmp_path):
    url = f"sqlite:///{tmp_path / 'perfledger.db'}"
    assert not workflow_tables(url)
    (tmp_path / "perfledger-jobs.db").touch()

    assert workflow_tables(url) == str(tmp_path / "perfledger-jobs.db")
