"""Tests what is said of jobs that wait because of a quarantine, and when it is taken back."""

from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.store.database import write_session
from perfledger_service.store.devices.quarantines import add_quarantine, device_for
from perfledger_service.store.jobs.runner_jobs import (
    WAITS_FOR_ANOTHER,
    NewRunnerJob,
    withdraw_waits,
)
from perfledger_service.store.projects import project_for
from perfledger_service.usecases.jobs.request import JobRequest
from perfledger_service.usecases.jobs.runner_queue import jobs_of_project, queue_job, take_job
from perfledger_service.values.service_views.devices import DeviceKey

GPU_CLASS = "cuda:NVIDIA H100:1"
KEY = DeviceKey(device="cuda", model="NVIDIA H100", name="GPU-0", has_id=True)
BOX = JobRequest(
    runner="box",
    machine_classes=(GPU_CLASS,),
    devices={GPU_CLASS: ("GPU-0",)},
    lease="1" * 32,
    lease_s=120.0,
)


def test_waits_are_withdrawn_within_a_project_and_said_anew_by_the_next_request(engine, now):
    with write_session(engine) as session:
        projects = [project_for(session, name, now=now) for name in ("octo/models", "octo/other")]
        for project in projects:
            device = device_for(session, project.id, KEY)
            add_quarantine(session, device, reason="its fan", set_by="alice", since=now)
            job = NewRunnerJob(key="a", kind=RunnerJobKind.AB, machine_class=GPU_CLASS)
            queue_job(session, project.id, job, now=now)
        session.commit()
    for project in projects:
        take_job(engine, project, BOX, now=now)

    with write_session(engine) as session:
        withdraw_waits(session, projects[0].id)
        session.commit()

    reasons = [jobs_of_project(engine, project)[0].reason for project in projects]
    assert reasons == ["", f"{WAITS_FOR_ANOTHER}: GPU-0 of box is in quarantine"]
    take_job(engine, projects[0], BOX, now=now)
    assert jobs_of_project(engine, projects[0])[0].reason == reasons[1]
