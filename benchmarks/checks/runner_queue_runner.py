"""Works as a runner for `runner_queue.py`, with a quick child process in place of a check.

It imports what a runner needs and no service, so that it begins soon after it was killed.
"""

import os
import random
import secrets
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from perfledger.bundle import Bundle, Plan
from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine, Revision, Run, Side, WorkloadSpec
from perfledger_runners.bundles.files import write_bundle
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.jobs.commits import fetch_commits
from perfledger_runners.jobs.runner_job import RunnerJob
from perfledger_runners.jobs.service_queue import ServiceJobs
from perfledger_runners.jobs.slot import JobSlot, open_slot
from perfledger_runners.jobs.work_loop import Drain, JobRunner, RunnerOptions

REPOSITORY = "octo/models"
TOKEN = "pl_0123abcd_" + "s" * 43
MACHINE_CLASS = "cpu:Test CPU:1"
LEASE_S = 3.0  # short: what a dead runner holds is soon free
MAX_CHECK_S = 0.5
KILLER = "killer"  # in the names of workloads that kill the runner of their job


def main(task: str, words: Sequence[str]) -> None:
    if task == "runner":
        run_runner(*words)
    else:
        run_check(*words)


def run_check(bundle: str, workload: str, base: str, head: str) -> None:
    """Write a made bundle as a check would, after a random while."""
    time.sleep(random.uniform(0.0, MAX_CHECK_S))
    if KILLER in workload:
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()  # until the kernel ends this process, as its runner is gone
    runs = tuple(
        Run(
            workload=workload,
            side=side,
            pair=pair,
            position=position,
            process=2 * pair + position,
            started_at="2026-11-20T11:00:00+00:00",
            samples={STEP_TIME.name: (random.uniform(0.01, 0.0101),) * 5},
        )
        for pair in range(4)
        for position, side in enumerate(Side)
    )
    write_bundle(
        Bundle(
            id=secrets.token_hex(16),
            created_at="2026-11-20T11:00:00+00:00",
            base=Revision(sha=base),
            head=Revision(sha=head),
            machine=Machine(device=Device.CPU, model="Test CPU"),
            plan=Plan(seed=1, order=("base",) * 4, looks=(4,)),
            workloads=(WorkloadSpec(id=workload, module="made", function="step"),),
            metrics=(STEP_TIME,),
            runs=runs,
            repository=REPOSITORY,
            held_s=1.0,
        ),
        Path(bundle),
    )


def run_runner(clone: str, slots: str, name: str, url: str) -> None:
    """Work as a runner until SIGTERM."""
    repository = Repository.open(Path(clone))
    drain = Drain()
    signal.signal(signal.SIGTERM, lambda *_: drain.ask(60.0))

    def command(job: RunnerJob, slot: JobSlot) -> Sequence[str]:
        commits = fetch_commits(repository, job)
        words = (str(slot.bundle), *job.workloads, commits.base, commits.head)
        return (sys.executable, __file__, "check", *words)

    with open_slot(Path(slots), name) as slot:
        JobRunner(
            jobs=ServiceJobs(url=url, token=TOKEN),
            slot=slot,
            command=command,
            folder=repository.root,
            environment=os.environ,
            options=RunnerOptions(
                name=name, machine_classes=(MACHINE_CLASS,), lease_s=LEASE_S, poll_s=0.2
            ),
            say=lambda line: print(line, flush=True),
            drain=drain,
        ).run()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
