"""Runs the checks and bisections that a service's queue has for this machine."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from perfledger.records import Device, Machine
from perfledger_runners.bundles.service_history import fetch_history
from perfledger_runners.bundles.service_requests import ServiceRequestError
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.jobs.commits import fetch_commits
from perfledger_runners.jobs.runner_job import RunnerJob, RunnerJobKind
from perfledger_runners.jobs.service_queue import ServiceJobs
from perfledger_runners.jobs.slot import JobSlot, open_slot
from perfledger_runners.jobs.work_loop import Drain, JobRunner, RunnerOptions
from perfledger_runners.launchers.configuration import (
    LauncherChoice,
    RunsOpener,
    read_launcher_file,
)
from perfledger_runners.launchers.launcher import SubmissionLimits
from perfledger_runners.launchers.local_processes import LocalProcesses
from perfledger_runners.machine.fingerprint import read_machine
from perfledger_runners.machine.nvml import load_nvml
from perfledger_runners.user_folders import state_folder
from perfledger_service.errors import UsageError
from perfledger_service.settings.check import ENV_PREFIX
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.upload_target import UploadTarget

PERFLEDGER = (sys.executable, "-m", "perfledger_service")
# The child runs a change's code, which must not see upload addresses, credentials, or tokens that
# start workflows.
PRIVATE_VARIABLES = frozenset(
    f"{ENV_PREFIX}{name}" for name in ("UPLOAD_URL", "UPLOAD_TOKEN", "GITHUB_TOKEN")
)

MAX_DEVICES = 64  # most devices of a machine class that the service accepts
MAX_DIGITS = 6
# Device types that a job's machine class may begin with; a pattern may begin with anything.
MEASURED_DEVICES = frozenset({Device.CPU, Device.CUDA, Device.TPU})


def run_jobs(
    folder: Path,
    target: UploadTarget,
    options: RunnerOptions,
    *,
    choice: LauncherChoice | None = None,
    drain: Drain,
    say: Callable[[str], None],
    is_until_idle: bool = False,
) -> None:
    """Take jobs of the repository that contains `folder`, until the runner drains or none is left.

    Unless a launcher is chosen, jobs run in child processes without resource limits.

    Raises UsageError for a folder that is not a repository and for a name that another runner has.
    """
    if target.identity is not None:
        msg = "a GitHub Actions job cannot be a runner of the queue: set PERFLEDGER_UPLOAD_TOKEN"
        raise UsageError(msg)
    with translate_errors():
        repository = Repository.open(folder)
        slots = state_folder(os.environ) / "runners"
        with open_slot(slots, options.name) as slot:
            JobRunner(
                jobs=ServiceJobs(url=target.url, token=target.token),
                slot=slot,
                command=JobCommands(repository, target),
                folder=repository.root,
                environment=child_environment(os.environ),
                options=options,
                say=say,
                drain=drain,
                launcher=LocalProcesses() if choice is None else choice.launcher,
                limits=SubmissionLimits() if choice is None else choice.limits,
            ).run(is_until_idle=is_until_idle)


def chosen_launcher(path: Path | None, open_runs: RunsOpener) -> LauncherChoice | None:
    """Return the launcher that a file describes; raise UsageError if the file is invalid."""
    if path is None:
        return None
    with translate_errors():
        return read_launcher_file(path, open_runs)


def machines_here(environment: Mapping[str, str]) -> tuple[Machine, ...]:
    """Return what this machine measures on: one GPU, if it has any, and its CPU.

    A TPU, or several devices at a time, cannot be detected without a framework and must be named.
    """
    requests = [Device.CPU] if load_nvml() is None else [Device.CUDA, Device.CPU]
    return tuple(read_machine(None, requested=one, environment=environment)[0] for one in requests)


def devices_of_class(machine_class: str, machines: Iterable[Machine]) -> tuple[str, ...]:
    """Return the names of this machine's devices that measure a class; () for another machine's.

    These are the first devices, as many as the class has.
    """
    start, _, count = machine_class.rpartition(":")
    if not (count.isascii() and count.isdecimal() and 1 <= int(count[:MAX_DIGITS]) <= MAX_DEVICES):
        return ()
    for machine in machines:
        if f"{machine.device}:{machine.model}" == start:
            return replace(machine, count=int(count)).occupied_names[:MAX_DEVICES]
    return ()


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without the variables that only the runner itself needs."""
    return {name: value for name, value in environment.items() if name not in PRIVATE_VARIABLES}


@dataclass(frozen=True, slots=True)
class JobCommands:
    """A callable that fetches a job's commits and returns the command that measures them."""

    repository: Repository
    target: UploadTarget

    def __call__(self, job: RunnerJob, slot: JobSlot) -> tuple[str, ...]:
        """Return the command; raise JobRefusedError and RepositoryError."""
        commits = fetch_commits(self.repository, job)
        bundle = f"--save-bundle={slot.bundle}"
        excluded = [f"--exclude-device={name}" for name in job.excluded_devices]
        if job.kind is RunnerJobKind.BISECTION:  # after "--" nothing is parsed as an option
            where = (*job.workloads[:1], commits.base, commits.head)
            metric = (f"--metric={job.metric}",) if job.metric else ()
            return (*PERFLEDGER, "history", "bisect", bundle, *metric, *excluded, "--", *where)
        if job.kind is RunnerJobKind.BUILTIN:
            device = job.machine_class.partition(":")[0]
            on_device = (f"--device={device}",) if device in MEASURED_DEVICES else ()
            of_project = f"--repository={job.repository}"
            return (*PERFLEDGER, "bench", "builtin", bundle, of_project, *on_device)
        options = {
            "base": commits.base,
            "head": commits.head,
            "repository": job.repository,
            "pull-request": job.pull_request,
            "spreads": self._fetch_spreads(slot),
        }
        words = [f"--{name}={value}" for name, value in options.items() if value]
        chosen = [f"--workload={workload}" for workload in job.workloads]
        return (*_most_pairs(job), *PERFLEDGER, "check", bundle, *words, *excluded, *chosen)

    def _fetch_spreads(self, slot: JobSlot) -> str:
        """Return the file of the spreads that the service knows, "" if it does not answer."""
        with suppress(ServiceRequestError):
            history = fetch_history(self.target.url, self.target.token)
            slot.spreads.write_bytes(history.to_json())
            return str(slot.spreads)
        return ""


def _most_pairs(job: RunnerJob) -> tuple[str, ...]:
    """Return the prefix of a command that limits its pairs, a setting that has no option."""
    return () if job.max_pairs is None else ("env", f"{ENV_PREFIX}MAX_PAIRS={job.max_pairs}")
