"""Collects information on a project's machines: their checks, canaries, runners and jobs."""

from sqlmodel import Session

from perfledger_service.store.devices.canary_runs import device_views
from perfledger_service.store.fleet.machines import project_machines
from perfledger_service.store.jobs.runner_jobs import newest_runner_jobs
from perfledger_service.store.jobs.runners import project_runners
from perfledger_service.store.projects import project_named
from perfledger_service.values.fleet_views import MachinesView

MAX_JOBS = 30  # on the page; `perfledger server job list` lists more


def machines_view(session: Session, repository: str) -> MachinesView:
    """Return the information on a project's machines; raise NotFoundError for no project."""
    project = project_named(session, repository)
    machines, checks = project_machines(session, project.id)
    devices, left_out = device_views(session, project.id)
    return MachinesView(
        repository=project.repository,
        machines=machines,
        checks=checks,
        runners=project_runners(session, project.id),
        jobs=newest_runner_jobs(session, project.id, limit=MAX_JOBS),
        devices=devices,
        devices_left_out=left_out,
    )
