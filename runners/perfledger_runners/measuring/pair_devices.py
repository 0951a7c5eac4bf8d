"""Compares the devices that the two sides of a pair ran on."""

from collections.abc import Iterable

from perfledger.records import Failure, FailureReason, Run


def other_device_failures(pairs: Iterable[tuple[Run, Run]]) -> tuple[Failure, ...]:
    """Return a failure for each workload whose base and head ran on different devices.

    Two devices of one model differ by a few percent, which would be mistaken for the change.
    Devices are identified by their places among this machine's devices, which both sides see in the
    same way, and named by their UUID if it was read. If a side's places are unknown, no failure is
    returned.
    """
    return tuple(
        Failure(
            workload=head.workload,
            side=head.side,
            why=FailureReason.OTHER_DEVICE,
            pair=head.pair,
            detail=f"base ran on {_names(base)} and head on {_names(head)}: their difference may "
            "be the devices'",
        )
        for base, head in pairs
        if _are_known(base, head) and set(base.device_places) != set(head.device_places)
    )


def _are_known(base: Run, head: Run) -> bool:
    return base.device == head.device and bool(base.device_places and head.device_places)


def _names(run: Run) -> str:
    uuids = {each.place: each.name for each in run.telemetry if each.name}
    return " and ".join(
        f"{run.device or 'device'}:{place}" + (f" ({uuids[place]})" if place in uuids else "")
        for place in sorted(run.device_places)
    )
