"""Tests that canaries are stored for their device, and what a quarantine does to uploads."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlmodel import select

from perfledger.records import Device, Machine
from perfledger_runners.jobs.runner_job import RunnerJobKind, RunnerJobState
from perfledger_service.errors import ConflictError, RefusedError, UsageError
from perfledger_service.rendering.check.comment import check_summary, comment
from perfledger_service.store.api_reads.runs import run_by_id, runs_page
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.devices.tables import CanaryRunRow, QuarantinedUploadRow
from perfledger_service.store.jobs.runner_jobs import NewRunnerJob, runner_job
from perfledger_service.store.tables import ObservationRow, PairSpreadRow, UploadRow, VerdictRow
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.fleet.device import quarantine_device, release_device
from perfledger_service.usecases.jobs.runner_queue import queue_job
from perfledger_service.usecases.server.project import add_project, project_of_name
from perfledger_service.usecases.uploads.canaries import (
    StoredCanaries,
    receive_canaries,
)
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.usecases.uploads.uploads import receive_bundle
from perfledger_service.values.people.person import Actor
from perfledger_service.values.upload_views import UploadSender
from tests.cases import case
from tests.service.canary_bundles import GPU, a_canary_bundle

TOKEN = "pl_0123abcd_" + "s" * 43
ALICE = Actor(name="alice")
CPU = "Test CPU of host a1"


@pytest.fixture
def project(engine, now):
    add_project(engine, "octo/models", token=TOKEN, now=now)
    return project_of_name(engine, "octo/models")


@pytest.fixture
def receive(engine, project, now):
    def receive(bundle, **values):
        data = bundle.to_json().encode()
        return receive_bundle(engine, data, project=project, upload_id="1" * 32, now=now, **values)

    return receive


@pytest.fixture
def queued(engine, project, now):
    def queue(kind=RunnerJobKind.BUILTIN, machine_class="cuda:NVIDIA H100:1"):
        job = NewRunnerJob(key=f"a job {kind}", kind=kind, machine_class=machine_class)
        with write_session(engine) as session:
            stored = queue_job(session, project.id, job, now=now)
            session.commit()
        return stored.id

    return queue


@pytest.fixture
def report_of(engine):
    """Return the report on an upload, built anew."""

    def report_of(upload_id):
        with read_session(engine) as session:
            return UploadReports(build_report).report(session, upload_by_id(session, upload_id))[0]

    return report_of


def rows(engine, table):
    with read_session(engine) as session:
        return len(session.exec(select(table)).all())


def test_canaries_are_stored_once_and_are_no_upload(engine, receive):
    first, second = (receive(a_canary_bundle(1)) for _ in range(2))

    assert isinstance(first, StoredCanaries)
    assert first == second
    assert first.headline.startswith("2 canaries, unknown: too little to compare with")
    assert (rows(engine, CanaryRunRow), rows(engine, UploadRow)) == (1, 0)


def test_canaries_of_another_repository_are_refused(engine, receive):
    with pytest.raises(RefusedError, match="the token is for octo/models"):
        receive(a_canary_bundle(1, repository="octo/other"))
    assert rows(engine, CanaryRunRow) == 0


def test_canaries_of_a_pull_requests_run_are_refused(engine, project, now):
    with pytest.raises(RefusedError, match="a pull request's run"):
        receive_canaries(
            engine,
            a_canary_bundle(1),
            project=project,
            bundle_sha256="0" * 64,
            sender=UploadSender.OTHER_RUN,
            run=None,
            job_id=None,
            now=now,
        )
    assert rows(engine, CanaryRunRow) == 0


def test_canaries_end_the_job_that_asked_for_them(engine, project, receive, queued):
    job_id = queued()
    several = replace(GPU, count=8)  # the job is for one device, and the runner sees all
    stored = receive(replace(a_canary_bundle(1), machine=several), job_id=job_id)

    with read_session(engine) as session:
        job = runner_job(session, project.id, job_id)
    assert (job.state, job.upload_id) == (RunnerJobState.DONE, None)
    assert job.reason == stored.headline
    assert receive(replace(a_canary_bundle(1), machine=several), job_id=job_id) == stored


def test_a_job_has_one_result_and_other_canaries_of_it_are_not_stored(engine, receive, queued):
    job_id = queued()
    receive(a_canary_bundle(1), job_id=job_id)

    for _ in range(2):
        with pytest.raises(ConflictError, match="already has a result"):
            receive(a_canary_bundle(2), job_id=job_id)
    assert rows(engine, CanaryRunRow) == 1


def test_canaries_that_no_job_asked_for_are_not_stored(engine, receive, queued):
    for kind, machine_class, problem in (
        (RunnerJobKind.CANARY, "cuda:*", "the job is a canary one"),
        (RunnerJobKind.NIGHTLY, "cuda:*", "the job is a nightly one"),
        (RunnerJobKind.BUILTIN, "cuda:NVIDIA A100:1", "the job is for machines"),
    ):
        with case(kind=kind), pytest.raises(UsageError, match=problem):
            receive(a_canary_bundle(1), job_id=queued(kind, machine_class))
    assert rows(engine, CanaryRunRow) == 0


def test_a_check_is_no_answer_to_a_job_for_canaries(receive, queued, make_bundle):
    with pytest.raises(UsageError, match="the job is a builtin one"):
        receive(make_bundle(pull_request=None), job_id=queued(machine_class="*"))


def test_a_check_on_a_quarantined_device_is_marked_and_in_no_history(
    engine, judged, make_bundle, report_of, now
):
    judged(engine, make_bundle(seed=1))
    before = [rows(engine, table) for table in (ObservationRow, PairSpreadRow, VerdictRow)]
    project = project_of_name(engine, "octo/models")
    quarantine_device(engine, project, CPU, actor=ALICE, reason="its fan", now=now)

    upload = judged(engine, make_bundle(seed=2), upload_id="2" * 32)

    after = [rows(engine, table) for table in (ObservationRow, PairSpreadRow, VerdictRow)]
    assert after[:2] == before[:2]
    assert after[2] == 2 * before[2]
    report = report_of(upload.id)
    assert report.quarantine.startswith(
        "measured on a quarantined device: Test CPU of host a1, in quarantine from 2026-11-20"
    )
    assert "(its fan)" in report.quarantine
    assert report_of("1" * 32).quarantine == ""
    # Neither a release nor a restart takes the mark away.
    release_device(engine, project, CPU, actor=ALICE, reason="mended", now=now)
    assert report_of(upload.id).quarantine == report.quarantine
    judged(engine, make_bundle(seed=3), upload_id="3" * 32, now=now + timedelta(hours=1))
    assert rows(engine, QuarantinedUploadRow) == 1


@pytest.mark.slow(ci_only=True)
def test_the_mark_stands_first_in_comment_and_check_and_is_plain_text(
    engine, judged, make_bundle, report_of, now
):
    judged(engine, make_bundle(seed=1))
    project = project_of_name(engine, "octo/models")
    evil = "@everyone <img src=x> [click](http://evil.example) **now**"
    quarantine_device(engine, project, CPU, actor=ALICE, reason=evil, now=now)
    upload = judged(engine, make_bundle(seed=2), upload_id="2" * 32)

    for text in (comment(report_of(upload.id)), check_summary(report_of(upload.id))):
        mark = next(line for line in text.splitlines() if "quarantined device" in line)
        assert mark.startswith("> Measured on a quarantined device: ")
        assert text.index(mark) < text.index("<details>")
        assert f"(`{evil}`)" in mark  # in a code span, where nobody is called and nothing links
    assert "quarantined" not in comment(report_of("1" * 32))


def test_a_check_that_was_made_in_a_quarantine_and_arrives_later_is_marked(
    engine, judged, make_bundle, now
):
    judged(engine, make_bundle(seed=1))
    project, name = project_of_name(engine, "octo/models"), CPU
    quarantine_device(engine, project, name, actor=ALICE, reason="its fan", now=now)
    later = now + timedelta(hours=2)
    release_device(engine, project, name, actor=ALICE, reason="mended", now=later)

    for seed, minutes in ((2, 60), (3, 180)):
        created_at = (now + timedelta(minutes=minutes)).isoformat()
        bundle = make_bundle(seed=seed, created_at=created_at)
        judged(engine, bundle, upload_id=str(seed) * 32, now=later + timedelta(days=1))

    with read_session(engine) as session:
        marked = session.exec(select(QuarantinedUploadRow.upload_id)).all()
    assert marked == ["2" * 32]


def test_the_quarantine_of_a_gpu_marks_no_check_on_its_hosts_processor(
    engine, judged, make_bundle, project, now
):
    with_gpu = Machine(device=Device.CUDA, model="NVIDIA H100", uuid="GPU-0", cpu_model="Xeon")
    bundle = make_bundle()
    on_gpu = replace(bundle, machine=with_gpu)
    on_cpu = replace(
        on_gpu, id="2" * 32, runs=tuple(replace(run, device=Device.CPU) for run in bundle.runs)
    )
    judged(engine, on_gpu)
    quarantine_device(engine, project, "GPU-0", actor=ALICE, reason="its fan", now=now)

    judged(engine, on_cpu, upload_id="2" * 32)

    assert rows(engine, QuarantinedUploadRow) == 0


def test_a_check_on_several_gpus_names_those_in_quarantine_and_no_other_is_marked(
    engine, judged, make_bundle, report_of, now
):
    uuids = [f"GPU-{place}" for place in range(8)]
    gpus = replace(GPU, count=8, uuid=uuids[0], more_uuids=tuple(uuids[1:]), host="a1")
    bundle = replace(make_bundle(), machine=gpus)
    judged(engine, bundle)  # on the first
    project = project_of_name(engine, "octo/models")
    for name in ("GPU-3", "GPU-5"):
        quarantine_device(engine, project, name, actor=ALICE, reason="its fan", now=now)

    def check(number, **values):
        runs = tuple(replace(run, device=Device.CUDA, **values) for run in bundle.runs)
        upload_id = f"{number}" * 32
        judged(engine, replace(bundle, id=upload_id, runs=runs), upload_id=upload_id)
        return report_of(upload_id).quarantine

    assert check(2, devices=1) == ""
    assert check(3, devices=1, device_places=(4,)) == ""
    assert check(4, devices=1, device_places=(3,)).startswith(
        "measured on a quarantined device: GPU-3, in quarantine from 2026-11-20 12:00 UTC (its fan)"
    )
    quarantine = check(5, devices=8)
    assert quarantine.startswith("measured on 2 quarantined devices: GPU-3, in quarantine from")
    assert "GPU-5" in quarantine
    with read_session(engine) as session:
        page = runs_page(session, project.id, most=9)
        run, _ = run_by_id(session, project.id, "5" * 32)
    marks = {one.id[0]: one.quarantined_devices for one in page.items}
    assert marks == {"1": (), "2": (), "3": (), "4": ("GPU-3",), "5": ("GPU-3", "GPU-5")}
    assert run.quarantined_devices == ("GPU-3", "GPU-5")


def test_a_check_on_a_slice_of_a_quarantined_gpu_is_marked(
    engine, judged, make_bundle, report_of, now
):
    piece = replace(GPU, model="NVIDIA A100 MIG 1g.5gb", uuid="MIG-1", parent_uuid="GPU-0")
    judged(engine, replace(make_bundle(), machine=piece))
    project = project_of_name(engine, "octo/models")
    quarantine_device(engine, project, "GPU-0", actor=ALICE, reason="its fan", now=now)
    other = replace(piece, uuid="MIG-2")
    upload = judged(engine, replace(make_bundle(seed=2), machine=other), upload_id="2" * 32)

    assert "GPU-0, in quarantine" in report_of(upload.id).quarantine
