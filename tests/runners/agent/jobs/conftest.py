"""A service's queue on paper, which answers as the real one does."""

import io
import json
from datetime import UTC, datetime
from email.message import Message
from urllib.error import HTTPError

import pytest

from perfledger.bundle import Bundle, Plan
from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine, Revision, Run, Side, WorkloadSpec
from perfledger_runners.jobs.runner_job import RunnerJob, RunnerJobKind
from perfledger_runners.jobs.service_queue import ServiceJobs

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
URL = "https://ledger.example"
JOB = {
    "id": "1" * 32,
    "repository": "octo/models",
    "kind": "ab",
    "machine_class": "cpu:*",
    "base_sha": "",
    "head_sha": "",
    "created_at": "2026-11-20T12:00:00Z",
    "due_at": "2026-11-20T12:00:00Z",
}


class PaperQueue:
    """Lends its jobs one after the other; `statuses` are the next answers that are none."""

    def __init__(self):
        self.jobs, self.statuses, self.requests = [], [], []

    def open(self, fullurl, data=None, timeout=None):
        assert data is None
        assert timeout is not None
        path = fullurl.full_url.removeprefix(f"{URL}/api/v1/jobs")
        message = {} if path.endswith("/result") else json.loads(fullurl.data)
        self.requests.append((path, message))
        if self.statuses and (status := self.statuses.pop(0)):
            if status == "absent":
                raise ConnectionRefusedError
            raise HTTPError(fullurl.full_url, status, "no", Message(), io.BytesIO(b"why not"))
        if path == "/take":
            answer: object = {"job": self.jobs.pop(0) if self.jobs else None}
        elif path.endswith("/result"):
            answer = {"id": "u", "status": "received", "url": f"{URL}/runs/u"}
        else:
            answer = JOB
        return io.BytesIO(json.dumps(answer).encode())

    @property
    def paths(self):
        """What was asked about jobs, in order, but for the heartbeats."""
        words = [path.rpartition("/")[2] for path, _ in self.requests]
        return [word for word in words if word != "heartbeat"]


@pytest.fixture
def queue():
    return PaperQueue()


@pytest.fixture
def jobs(queue):
    return ServiceJobs(url=URL, token="pl_token", opener=queue)


@pytest.fixture(scope="session")
def make_job():
    """Return a job with these values."""

    def make_job(**values):
        defaults = {"id": "1" * 32, "repository": "octo/models", "machine_class": "*"}
        times = {"created_at": NOW, "due_at": NOW}
        return RunnerJob(**(defaults | times | {"kind": RunnerJobKind.AB} | values))

    return make_job


@pytest.fixture(scope="session")
def job_document():
    return JOB


@pytest.fixture(scope="session")
def whole_bundle():
    """A bundle of one pair, as a check writes it."""
    runs = tuple(
        Run(
            workload="m:f",
            side=side,
            pair=0,
            position=position,
            process=position,
            started_at="2026-11-20T11:00:00+00:00",
            samples={STEP_TIME.name: (0.01,) * 5},
        )
        for position, side in enumerate(Side)
    )
    return Bundle(
        id="0" * 32,
        created_at="2026-11-20T11:00:00+00:00",
        base=Revision(sha="a" * 40),
        head=Revision(sha="b" * 40),
        machine=Machine(device=Device.CPU, model="A CPU"),
        plan=Plan(seed=1, order=("base",), looks=(1,)),
        workloads=(WorkloadSpec(id="m:f", module="m", function="f"),),
        metrics=(STEP_TIME,),
        runs=runs,
    ).to_json()
