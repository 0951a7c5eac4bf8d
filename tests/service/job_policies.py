"""Reads what runners may spend on a project, as the service stored it."""

from perfledger_service.store.database import read_session
from perfledger_service.store.jobs.policies import budget_of, schedules_of
from perfledger_service.store.projects import project_named


def job_policy(engine, repository):
    with read_session(engine) as session:
        project = project_named(session, repository)
        return budget_of(session, project.id), schedules_of(session, project.id)
