"""Tests the command by which a runner measures the canaries of its device."""

from datetime import UTC, datetime

import pytest

from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.jobs.job_slot import JobSlot
from perfledger_runners.jobs.runner_job import RunnerJob, RunnerJobKind
from perfledger_service.usecases.check.runner import PERFLEDGER, JobCommands
from perfledger_service.usecases.inputs.upload_target import UploadTarget
from tests.service.git_history import GitHistory

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def clone(tmp_path):
    origin = GitHistory(tmp_path / "origin")
    origin.commit()
    origin.git("clone", "-q", str(origin.folder), str(tmp_path / "clone"))
    return Repository.open(tmp_path / "clone")


@pytest.mark.parametrize(
    ("machine_class", "options"),
    [("cuda:NVIDIA H100:1", ("--device=cuda",)), ("*", ()), ("c*:*", ()), ("--evil:x:1", ())],
)
def test_canaries_of_a_device_are_the_built_in_ones_on_its_kind(
    clone, tmp_path, machine_class, options
):
    job = RunnerJob(
        id="j",
        repository="octo/models",
        kind=RunnerJobKind.BUILTIN,
        machine_class=machine_class,
        created_at=NOW,
        due_at=NOW,
    )
    commands = JobCommands(clone, UploadTarget(url="http://127.0.0.1:9", token="t"))

    assert commands(job, JobSlot(tmp_path)) == (
        *PERFLEDGER,
        *("bench", "builtin", f"--save-bundle={tmp_path / 'bundle.json'}"),
        "--repository=octo/models",
        *options,
    )
