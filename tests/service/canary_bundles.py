"""Bundles of canaries with half a per cent of noise."""

from random import Random

from perfledger.bundle import Bundle, Plan
from perfledger.records import CanaryReading, Device, Framework, HostFinding, Machine, Revision

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
