"""Tests the command by which a runner measures the canaries of its device."""

from datetime import UTC, datetime

import pytest

from perfledger.records import Device, Machine
from perfledger_runners.checkouts.git import git
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.jobs.runner_job import RunnerJob, RunnerJobKind
from perfledger_runners.jobs.slot import JobSlot
from perfledger_service.usecases.check.runner import (
    PERFLEDGER,
    JobCommands,
    child_environment,
    devices_of_class,
    machines_here,
)
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


def test_a_child_does_not_learn_where_and_as_whom_to_upload():
    private = ("UPLOAD_TOKEN", "UPLOAD_URL", "GITHUB_TOKEN")
    environment = {f"PERFLEDGER_{name}": "x" for name in private} | {"PATH": "/bin"}

    assert child_environment(environment) == {"PATH": "/bin"}


def test_this_machine_measures_on_its_cores():
    assert machines_here({})[-1].machine_class.startswith("cpu:")


def test_no_word_of_a_bisection_is_taken_for_another_option(clone, tmp_path):
    head = git(clone.root, "rev-parse", "HEAD").decode().strip()
    job = RunnerJob(
        id="j",
        repository="octo/models",
        kind=RunnerJobKind.BISECTION,
        machine_class="*",
        base_sha=head,
        head_sha=head,
        workloads=("--build=x",),
        metric="cpu_time",
        excluded_devices=("--build=y",),
        created_at=NOW,
        due_at=NOW,
    )
    commands = JobCommands(clone, UploadTarget(url="http://127.0.0.1:9", token="t"))

    assert commands(job, JobSlot(tmp_path)) == (
        *PERFLEDGER,
        *("history", "bisect", f"--save-bundle={tmp_path / 'bundle.json'}"),
        *("--metric=cpu_time", "--exclude-device=--build=y", "--", "--build=x", head, head),
    )


@pytest.mark.parametrize(
    ("machine_class", "expected"),
    [
        ("cuda:H100:1", ("GPU-0",)),
        ("cuda:H100:2", ("GPU-0", "GPU-1")),
        ("cuda:A100:1", ()),
        ("cuda:H100:0", ()),
        ("cuda:H100:" + "9" * 5000, ()),
        ("*", ()),
    ],
)
def test_a_runner_names_the_first_devices_of_a_class(machine_class, expected):
    gpus = Machine(device=Device.CUDA, model="H100", uuid="GPU-0", more_uuids=("GPU-1", "GPU-2"))

    assert devices_of_class(machine_class, [gpus]) == expected
