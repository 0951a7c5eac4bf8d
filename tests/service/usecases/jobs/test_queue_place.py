"""A job's place among those that the same runners may take before it."""

from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.store.database import read_session
from perfledger_service.store.jobs.runner_jobs import open_runner_jobs
from perfledger_service.usecases.jobs.queue_place import is_served, jobs_before
from perfledger_service.usecases.jobs.request import JobRequest
from perfledger_service.usecases.jobs.runner_queue import take_job

CPU, GPU = "cpu:X:1", "cuda:H100:1"


def test_jobs_of_other_machines_and_what_waits_less_are_behind(any_engine, queue, now):
    rerun, nightly = RunnerJobKind.RERUN, RunnerJobKind.NIGHTLY
    project = queue(
        {"kind": rerun, "machine_class": CPU},  # it is taken
        {"kind": rerun, "machine_class": CPU},
        {"kind": rerun, "machine_class": GPU},
        {"kind": nightly, "machine_class": "*"},
        {"kind": rerun, "machine_class": "*"},
    )
    request = JobRequest(runner="box", machine_classes=(CPU,), lease="1" * 32, lease_s=60.0)
    take_job(any_engine, project, request, now=now)
    with read_session(any_engine) as session:
        jobs = {job.key: job for job in open_runner_jobs(session, project.id)}
    places = {key: jobs_before(job, jobs.values(), (CPU,)) for key, job in jobs.items()}

    assert places == {"0": 0, "1": 0, "2": 0, "3": 2, "4": 1}
    assert jobs_before(jobs["4"], jobs.values(), (CPU, GPU)) == 2


def test_a_class_is_served_by_a_runner_that_its_pattern_fits():
    assert is_served("cuda:*:1", (CPU, GPU))
    assert not is_served("tpu:*", (CPU, GPU))
