"""Checks what a decoded bundle says about a device's canaries."""

import math

from perfledger.bundle import Bundle
from perfledger.records import CanaryReading, Device
from perfledger_runners.bundles.value_checks import require

MAX_CANARIES = 100  # three times as many as there are, in two frameworks
MIN_RATES, MAX_RATES = 2, 20  # one for each process
# Per second: a thousand times what the largest device computes.
MAX_RATE = 1e21


def check_canaries(bundle: Bundle) -> None:
    """Raise BundleError unless canaries are possible, of one device, and the only measurements."""
    if not bundle.canaries:
        return
    require(len(bundle.canaries) <= MAX_CANARIES, f"canaries: more than {MAX_CANARIES}")
    names = {(each.framework, each.name) for each in bundle.canaries}
    require(len(names) == len(bundle.canaries), "canaries: a duplicate name")
    require(bundle.machine.device is not Device.IMPORTED, "machine.device: it has no canaries")
    for index, each in enumerate(bundle.canaries):
        _check_canary(f"canaries[{index}]", each)
    bare = Bundle(
        id=bundle.id,
        created_at=bundle.created_at,
        base=bundle.base,
        head=bundle.base,
        machine=bundle.machine,
        plan=bundle.plan,
        workloads=(),
        metrics=(),
        runs=(),
        canaries=bundle.canaries,
        repository=bundle.repository,
        host_findings=bundle.host_findings,
        held_s=bundle.held_s,
        notes=bundle.notes,
        perfledger=bundle.perfledger,
    )
    require(bundle == bare, "canaries: they are of one device and one commit, with nothing else")


def _check_canary(where: str, canary: CanaryReading) -> None:
    require(canary.name, f"{where}.name: empty")
    is_whole = MIN_RATES <= len(canary.rates) <= MAX_RATES
    require(is_whole, f"{where}.rates: not {MIN_RATES} to {MAX_RATES}")
    require(all(map(_is_rate, canary.rates)), f"{where}.rates: not positive, or impossible")
    expected = canary.expected_per_second
    is_possible = expected is None or _is_rate(expected)
    require(is_possible, f"{where}.expected_per_second: not positive, or impossible")


def _is_rate(value: float) -> bool:
    return math.isfinite(value) and 0 < value <= MAX_RATE
