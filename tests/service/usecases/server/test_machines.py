"""The page of machines, from what the service stores."""

from datetime import UTC, datetime

import pytest

from perfledger_service.errors import NotFoundError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.jobs.runners import record_runner
from perfledger_service.usecases.server.machines import machines_view

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_a_projects_machines_stand_beside_its_runners(engine, judged, make_bundle):
    judged(engine, make_bundle())
    with write_session(engine) as session:
        record_runner(session, 1, "box-1", ["cuda:*"], now=NOW)
        session.commit()

    with read_session(engine) as session:
        view = machines_view(session, "OCTO/models")

    assert view.repository == "octo/models"
    assert [one.checks for one in view.machines] == [1]
    assert [(one.name, one.machine_class) for one in view.runners] == [("box-1", "cuda:*")]
    assert view.jobs == ()


def test_an_unknown_project_is_named(engine):
    with read_session(engine) as session, pytest.raises(NotFoundError, match="octo/none"):
        machines_view(session, "octo/none")
