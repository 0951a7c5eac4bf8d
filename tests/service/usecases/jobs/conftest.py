"""A queue with jobs."""

from datetime import timedelta

import pytest

from perfledger_service.store.database import write_session
from perfledger_service.store.jobs.runner_jobs import NewRunnerJob
from perfledger_service.store.projects import project_for
from perfledger_service.usecases.jobs.runner_queue import queue_job


@pytest.fixture
def queue(any_engine, now):
    """Queue jobs a second apart, and return all open ones by their keys."""

    def queue(*jobs):
        with write_session(any_engine) as session:
            project = project_for(session, "octo/models", now=now)
            for second, values in enumerate(jobs):
                job = NewRunnerJob(key=str(second), **values)
                queue_job(session, project.id, job, now=now + timedelta(seconds=second))
            session.commit()
        return project

    return queue
