"""A database of the seventeenth version, upgraded: commands and jobs that were there."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import MetaData

from perfledger_service.store.comments.commands import CommandStatus, command_by_id
from perfledger_service.store.database import read_session
from perfledger_service.store.jobs.runner_jobs import runner_job
from perfledger_service.store.upgrade import upgrade

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
JOB_ID = "1" * 32
SEVENTEENTH_VERSION = {
    "project": [{"id": 1, "repository": "octo/m", "repository_key": "octo/m", "created_at": NOON}],
    "comment_command": [
        {
            "id": 4,
            "project_id": 1,
            "pull_request": 7,
            "comment_id": 2**40,
            "login": "alice",
            "author": "bob",
            "line": "/perfledger help",
            "received_at": NOON,
            "status": "decided",
            "answer": "the commands",
        }
    ],
    "runner_job": [
        {
            "id": JOB_ID,
            "project_id": 1,
            "key": "nightly:1",
            "kind": "nightly",
            "machine_class": "*",
            "base_sha": "",
            "head_sha": "",
            "allows_fork": False,
            "workloads": "[]",
            "requested_by": "the schedule",
            "state": "queued",
            "runner": "",
            "lease": "",
            "attempts": 0,
            "reason": "",
            "device_s": 0.0,
            "devices": 1,
            "created_at": NOON,
            "due_at": NOON,
        }
    ],
}


@pytest.fixture
def seventeenth_version(empty_engine, upgrade_to):
    """Give the empty database the tables of version 0017, with rows."""
    upgrade_to("0017")
    metadata = MetaData()
    metadata.reflect(empty_engine)
    with empty_engine.begin() as connection:
        for table, rows in SEVENTEENTH_VERSION.items():
            for row in rows:
                connection.execute(metadata.tables[table].insert().values(**row))


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("seventeenth_version")
def test_commands_and_jobs_are_as_they_were(empty_url, empty_engine, differences):
    upgrade(empty_url)

    with read_session(empty_engine) as session:
        command = command_by_id(session, 4)
        job = runner_job(session, 1, JOB_ID)
        assert (command.status, command.answer) == (CommandStatus.DECIDED, "the commands")
        assert command.edition == 0
        assert (job.kind, job.metric) == ("nightly", "")
    assert differences(empty_engine) == ()
