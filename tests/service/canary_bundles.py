"""Bundles of canaries with half a per cent of noise."""

from dataclasses import replace
from datetime import datetime
from random import Random

from sqlalchemy import Engine

from perfledger.bundle import Bundle, Plan
from perfledger.records import CanaryReading, Device, Framework, HostFinding, Machine, Revision
from perfledger_service.store.database import write_session
from perfledger_service.store.projects import project_named
from perfledger_service.usecases.fleet.device import quarantine_device
from perfledger_service.usecases.fleet.device_canaries import store_canaries
from perfledger_service.values.people.person import Actor

GPU = Machine(
    device=Device.CUDA, model="NVIDIA H100", uuid="GPU-0", frameworks={"torch": "2.9"}, cores=8
)
NAMES = ("matmul[size=8192]", "memory_copy[mebibytes=1024]")
COMMIT = Revision(sha="b" * 40)


def a_canary_bundle(
    number: int,
    *,
    machine: Machine = GPU,
    speed: float = 1.0,
    findings: tuple[HostFinding, ...] = (),
    repository: str = "octo/models",
) -> Bundle:
    """Return the canaries of a machine that has so much of its usual speed."""
    noise = Random(number)
    readings = tuple(
        CanaryReading(
            name=name,
            framework=Framework.TORCH,
            unit="FLOP",
            rates=tuple(5e14 * speed * (1 + 0.005 * noise.gauss()) for _ in range(3)),
            expected_per_second=6e14,
        )
        for name in NAMES
    )
    return Bundle(
        id=f"{number:032x}",
        created_at="2026-11-20T11:00:00+00:00",
        base=COMMIT,
        head=COMMIT,
        machine=machine,
        plan=Plan(seed=0, order=(), looks=()),
        workloads=(),
        metrics=(),
        runs=(),
        repository=repository,
        host_findings=findings,
        canaries=readings,
    )


def add_two_devices(engine: Engine, *, now: datetime) -> None:
    """Store canaries of two devices of octo/models, of which the second is in quarantine."""
    with write_session(engine) as session:
        project = project_named(session, "octo/models")
        for number in (1, 2):
            machine = replace(GPU, uuid=f"GPU-{number}")
            store_canaries(session, project, a_canary_bundle(number, machine=machine), now=now)
        session.commit()
    actor = Actor(name="root")
    quarantine_device(engine, project, "GPU-2", actor=actor, reason="its fan", now=now)
