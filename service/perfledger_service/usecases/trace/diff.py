"""Compares two profiler files."""

from collections.abc import Sequence
from pathlib import Path

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_profiles.diff.operations import by_iteration
from perfledger_profiles.parsing.device_choice import ANY_DEVICE, DeviceChoice
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.files import shown_path
from perfledger_service.usecases.inputs.history_sources import display_name
from perfledger_service.usecases.trace.explain import classify_profile, explain_change
from perfledger_service.usecases.trace.profile_files import read_profile_file
from perfledger_service.values.trace_views import TraceDiffView


def compare_traces(
    base: Path,
    head: Path,
    *,
    base_repeats: Sequence[Path] = (),
    choice: DeviceChoice = ANY_DEVICE,
) -> TraceDiffView:
    """Compare two profiler files; raise NotFoundError and UsageError.

    `base_repeats` are more profiles of base's code; any difference between them is noise.
    """
    workload = display_name(head)
    sides = tuple(
        read_profile_file(path, workload=workload, side=side, choice=choice, has_step_totals=True)
        for path, side in ((base, Side.BASE), (head, Side.HEAD))
    )
    base_profiles = [
        sides[0],
        *(
            read_profile_file(path, workload=workload, side=Side.BASE, choice=choice)
            for path in base_repeats
        ),
    ]
    for profile in (*sides[1:], *base_profiles[1:]):
        _check_same_kind(sides[0], profile)
    for path, profile in zip(base_repeats, base_profiles[1:], strict=True):
        if not is_same_device(sides[0], profile):
            names = f"{shown_path(path)} ran on another device than {shown_path(base)}"
            msg = f"{names}: give --base-repeat profiles of the same code on the same device"
            raise UsageError(msg)
    iterated = by_iteration((*sides, *base_profiles[1:]))
    profiles = iterated or (*sides, *base_profiles[1:])
    return TraceDiffView(
        base=classify_profile(display_name(base), profiles[0]),
        head=classify_profile(display_name(head), profiles[1]),
        explanation=explain_change(profiles[0], profiles[1], repeats=profiles[2:]),
        iteration_kernels=sides[0].iteration_kernels if iterated else 0,
        is_same_device=is_same_device(*sides),
    )


def is_same_device(base: Profile, head: Profile) -> bool:
    """Return whether two profiles may be of the same device model, as far as they name it.

    Some tools name only the vendor, and all slices of a board have its name, so the size counts
    too.
    """
    devices = [one.device for one in (base, head) if one.device]
    names = {device.name for device in devices if device.name}
    counts = {device.multiprocessors for device in devices} - {None}
    return len(names) <= 1 and len(counts) <= 1


def _check_same_kind(base: Profile, head: Profile) -> None:
    if base.has_steps is not head.has_steps:
        stepless, steps = (base, head) if head.has_steps else (head, base)
        msg = (
            f"a {stepless.tool} file without steps cannot be compared with a {steps.tool} file "
            "with steps: compare two files of one kind"
        )
        raise UsageError(msg)
    if not base.step_seconds > 0 or not head.step_seconds > 0:
        timeless = head if base.step_seconds > 0 else base
        msg = (
            f"a file of {timeless.tool} without the time of any step or kernel has nothing to "
            "compare: trace summary shows the figures of each"
        )
        raise UsageError(msg)
