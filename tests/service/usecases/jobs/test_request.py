"""Tests which jobs a runner gets, above all one whose device is in quarantine."""

from dataclasses import replace

import pytest

from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.store.database import write_session
from perfledger_service.store.devices.quarantines import add_quarantine, device_for
from perfledger_service.store.jobs.runner_jobs import NewRunnerJob
from perfledger_service.store.projects import project_for
from perfledger_service.usecases.fleet.device import release_device
from perfledger_service.usecases.jobs.request import JobRequest
from perfledger_service.usecases.jobs.runner_queue import jobs_of_project, queue_job, take_job
from perfledger_service.values.people.person import Actor
from perfledger_service.values.service_views.devices import DeviceKey

GPU_CLASS, CPU_CLASS = "cuda:NVIDIA H100:1", "cpu:Xeon:1"
BOTH = "cuda:NVIDIA H100:2"
KEY = DeviceKey(device="cuda", model="NVIDIA H100", name="GPU-0", has_id=True)
BOX = JobRequest(
    runner="box",
    machine_classes=(GPU_CLASS, CPU_CLASS),
    devices={GPU_CLASS: ("GPU-0",), CPU_CLASS: ("Xeon of host a1",)},
    lease="1" * 32,
    lease_s=120.0,
)
OTHER = replace(BOX, runner="other", devices={GPU_CLASS: ("GPU-1",)}, lease="2" * 32)


@pytest.fixture
def project(engine, now):
    with write_session(engine) as session:
        project = project_for(session, "octo/models", now=now)
        session.commit()
    return project


@pytest.fixture
def quarantine(engine, project, now):
    def quarantine(key):
        with write_session(engine) as session:
            device = device_for(session, project.id, key)
            add_quarantine(session, device, reason="its fan", set_by="alice", since=now)
            session.commit()

    return quarantine


@pytest.fixture
def quarantined(quarantine):
    quarantine(KEY)


@pytest.fixture
def queued(engine, project, now):
    def queue(kind=RunnerJobKind.AB, machine_class=GPU_CLASS, **values):
        key = f"{kind} {machine_class} {values}"
        job = NewRunnerJob(key=key, kind=kind, machine_class=machine_class, **values)
        with write_session(engine) as session:
            stored = queue_job(session, project.id, job, now=now)
            session.commit()
        return stored

    return queue


@pytest.fixture
def take(engine, project, now):
    def take(request=BOX):
        return take_job(engine, project, request, now=now)

    return take


MEASURING = [kind for kind in RunnerJobKind if not kind.is_of_device]


@pytest.mark.usefixtures("quarantined")
@pytest.mark.parametrize("kind", MEASURING)
def test_a_quarantined_device_gets_no_job_that_measures_code_and_another_does(
    engine, project, queued, take, kind
):
    job = queued(kind)

    assert take() is None
    (waiting,) = jobs_of_project(engine, project)
    assert waiting.reason == "waits for another runner: GPU-0 of box is in quarantine"
    taken_job = take(OTHER)
    assert (
        taken_job.id,
        taken_job.reason,
        taken_job.excluded_devices,
    ) == (job.id, "", ("GPU-0",))


@pytest.mark.usefixtures("quarantined")
def test_a_job_waits_for_the_devices_of_its_own_class_alone(
    engine, project, quarantine, queued, take
):
    quarantine(replace(KEY, device="cpu", model="Xeon", name="Xeon of host a1"))
    quarantine(replace(KEY, name="GPU-1"))
    classes = (GPU_CLASS, CPU_CLASS, BOTH)
    of_gpu, of_cpu, of_both = (queued(machine_class=each) for each in classes)
    devices = {**BOX.devices, BOTH: ("GPU-0", "GPU-1")}

    assert take(replace(BOX, machine_classes=classes, devices=devices)) is None
    reasons = {job.id: job.reason for job in jobs_of_project(engine, project)}
    start = "waits for another runner: "
    assert reasons[of_gpu.id] == f"{start}GPU-0 of box is in quarantine"
    assert reasons[of_cpu.id] == f"{start}Xeon of host a1 of box is in quarantine"
    assert reasons[of_both.id] == f"{start}GPU-0, GPU-1 of box are in quarantine"


@pytest.mark.usefixtures("quarantined")
@pytest.mark.parametrize("kind", [RunnerJobKind.CANARY, RunnerJobKind.BUILTIN])
def test_a_quarantined_device_gets_canaries_so_that_it_may_recover(queued, take, kind):
    job = queued(kind)

    taken_job = take()
    assert (taken_job.id, taken_job.excluded_devices) == (job.id, ())


@pytest.mark.usefixtures("quarantined")
def test_the_processor_beside_a_quarantined_gpu_is_measured_on(queued, take):
    queued()
    job = queued(RunnerJobKind.NIGHTLY, machine_class="cpu:*")

    assert take().id == job.id


@pytest.mark.usefixtures("quarantined")
def test_after_its_release_a_device_gets_the_job_that_waited(engine, project, queued, take, now):
    job = queued()
    assert take() is None
    actor = Actor(name="alice")
    release_device(engine, project, "GPU-0", actor=actor, reason="a new fan", now=now)

    (waiting,) = jobs_of_project(engine, project)
    assert waiting.reason == ""
    assert take().id == job.id


@pytest.mark.usefixtures("quarantined")
@pytest.mark.parametrize(
    ("machine_class", "devices", "is_closed"),
    [
        ("cuda:NVIDIA H100:8", ("GPU-9", "GPU-0"), True),
        ("cuda:NVIDIA H100:1", ("GPU-9",), False),
        ("cuda:NVIDIA H100 MIG 1g.10gb:1", ("MIG-1", "GPU-0"), True),
        ("tpu:TPU v4:4", ("GPU-0",), False),
    ],
)
def test_a_class_is_closed_by_each_of_its_devices_and_by_a_slices_gpu(
    queued, take, machine_class, devices, is_closed
):
    queued(machine_class=machine_class)
    classes = (machine_class, CPU_CLASS)
    request = replace(BOX, machine_classes=classes, devices={machine_class: devices})

    assert (take(request) is None) == is_closed


def test_a_job_for_one_runner_is_taken_by_no_other(queued, take):
    job = queued(RunnerJobKind.BUILTIN, for_runner="box")

    assert take(OTHER) is None
    assert take().id == job.id


BRACKETS = "cuda:NVIDIA [A] H100*?:1"


@pytest.mark.parametrize("kind", list(RunnerJobKind))
def test_a_machine_class_with_wildcards_in_its_name_gets_its_jobs(queued, take, kind):
    job = queued(kind, machine_class=BRACKETS)

    assert take(replace(BOX, machine_classes=(BRACKETS,))).id == job.id


@pytest.mark.parametrize("kind", [RunnerJobKind.AB, RunnerJobKind.BUILTIN])
def test_a_job_of_one_class_is_for_no_class_that_its_name_matches_as_a_pattern(queued, take, kind):
    queued(kind, machine_class="cuda:NVIDIA *:1")

    assert take() is None
    assert take(replace(BOX, machine_classes=("cuda:NVIDIA A:1",))) is None
