"""Checks that a bundle matches the runner job that it answers."""

from dataclasses import replace

from perfledger.bundle import Bundle
from perfledger.records import Side
from perfledger_runners.jobs.runner_job import RunnerJob, RunnerJobKind
from perfledger_service.errors import UsageError


def check_answer(job: RunnerJob, bundle: Bundle) -> None:
    """Raise UsageError unless a bundle answers a job.

    It has the job's commits, pull request and workloads, measured on the job's machine class.
    Canaries answer only a canary job.
    """
    if bool(bundle.canaries) != (job.kind is RunnerJobKind.BUILTIN):
        msg = f"the job is a {job.kind} one, and the bundle is not: upload another"
        raise UsageError(msg)
    _check_workloads(job, bundle)
    if job.kind is RunnerJobKind.BISECTION:  # a bisection's bundle is of the commit that it found
        return
    sides = (("base", job.base_sha, bundle.base), ("head", job.head_sha, bundle.head))
    for name, sha, revision in sides:
        if sha and sha != revision.sha:
            msg = f"the job's {name} is {sha}, and the bundle's is {revision.sha}: upload another"
            raise UsageError(msg)
    if job.pull_request != bundle.pull_request:
        msg = "the bundle is not of the job's pull request: upload another"
        raise UsageError(msg)


def _check_workloads(job: RunnerJob, bundle: Bundle) -> None:
    """Raise UsageError unless a bundle has a job's workloads, each from its machine class.

    A workload that did not run counts as measured on the bundle's machine, canaries as measured on
    one of its devices.
    """
    missing = [one for one in job.workloads if one not in {spec.id for spec in bundle.workloads}]
    if missing:
        msg = f"the bundle lacks the job's workload {missing[0]}: upload another"
        raise UsageError(msg)
    machines = bundle.machines()
    used = [machines.get((one, Side.HEAD), bundle.machine) for one in job.workloads]
    one_device = replace(bundle.machine, count=1) if bundle.canaries else bundle.machine
    for machine in used or [one_device]:
        if not job.is_for(machine.machine_class):
            msg = (
                f"the job is for machines {job.machine_class}, and the bundle's is "
                f"{machine.machine_class}: upload another"
            )
            raise UsageError(msg)
