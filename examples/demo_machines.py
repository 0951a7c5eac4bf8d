"""Stores the machines of the demo's history: daily canaries, a runner and its schedule."""

from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import product
from random import Random

from demo_commits import A100, H100, NEW_DRIVER
from demo_repository import REPOSITORY
from sqlalchemy import Engine

from perfledger.bundle import Bundle, Plan
from perfledger.records import CanaryReading, Framework, Machine, Revision
from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.store.projects import Project
from perfledger_service.usecases.jobs.job import schedule_runs
from perfledger_service.usecases.jobs.request import JobRequest
from perfledger_service.usecases.jobs.runner_queue import take_job
from perfledger_service.usecases.uploads.uploads import receive_bundle
from perfledger_service.values.jobs.policies import JobSchedule

DAYS = 14
# On the last days the A100 is slower by this share, as with a failing fan.
SLOW_DAYS, LOSS = 2, 0.07
NOISE = 0.004  # of a rate from process to process, relative
PROCESSES = 3
# A canary's name and unit, and the rates per second that an H100 and an A100 should reach.
CANARIES = (
    ("matmul[dtype=bfloat16,size=8192]", "FLOP", 700e12, 260e12),
    ("matmul[dtype=float32,size=8192]", "FLOP", 50e12, 17e12),
    ("memory_copy[mebibytes=1024]", "B", 3.0e12, 1.7e12),
    ("attention[batch=8,heads=16,length=1024]", "FLOP", 420e12, 170e12),
)
REACHED = 0.94  # of the expected rates
RUNNER = "h100-box"


def seed_machines(engine: Engine, project: Project, *, commit: str, now: datetime) -> None:
    """Store two weeks of daily canaries of both GPUs, a runner, and the runs of each night."""
    a100 = replace(A100.machine, driver=NEW_DRIVER)
    for day, (place, machine) in product(range(DAYS), enumerate((H100.machine, a100))):
        at = now - timedelta(days=DAYS - 1 - day, hours=2 + place)
        is_slow = machine is a100 and day >= DAYS - SLOW_DAYS
        speed = REACHED * (1 - LOSS if is_slow else 1)
        bundle = _canaries(machine, place, speed=speed, commit=commit, at=at)
        receive_bundle(
            engine, bundle.to_json().encode(), project=project, upload_id=bundle.id, now=at
        )
    request = JobRequest(
        runner=RUNNER,
        machine_classes=(H100.machine.machine_class,),
        lease="1" * 32,
        lease_s=60.0,
    )
    take_job(engine, project, request, now=now)
    for kind, hour in ((RunnerJobKind.NIGHTLY, 3), (RunnerJobKind.CANARY, 5)):
        schedule = JobSchedule(kind=kind, machine_class=H100.machine.machine_class, hour=hour)
        schedule_runs(engine, REPOSITORY, schedule)


def _canaries(machine: Machine, place: int, *, speed: float, commit: str, at: datetime) -> Bundle:
    """Return the canaries of a GPU that reaches the share `speed` of the expected rates."""
    name = f"canaries {machine.uuid} {at.isoformat()}"
    noise = Random(name)
    readings = tuple(
        CanaryReading(
            name=canary,
            framework=Framework.TORCH,
            unit=unit,
            rates=tuple(
                expected[place] * speed * (1 + NOISE * noise.gauss()) for _ in range(PROCESSES)
            ),
            expected_per_second=expected[place],
        )
        for canary, unit, *expected in CANARIES
    )
    head = Revision(sha=commit)
    return Bundle(
        id=sha256(name.encode()).hexdigest()[:32],
        created_at=at.isoformat(),
        base=head,
        head=head,
        machine=machine,
        plan=Plan(seed=0, order=(), looks=()),
        workloads=(),
        metrics=(),
        runs=(),
        repository=REPOSITORY,
        held_s=240.0,
        canaries=readings,
    )
