"""Profiler files in, what they say and what changed between them out."""

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import combinations, islice
from pathlib import Path

from perfledger.profile import Bucket, Profile
from perfledger.records import Side
from perfledger_profiles.stragglers import stragglers_of
from perfledger_profiles.whatif import WhatIf
from perfledger_runners.explain import ReaderError, export_speedscope, read_trace
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.pages.escape import clean
from perfledger_service.usecases.explaining import explain_change, look_at, suppose
from perfledger_service.usecases.histories import shown
from perfledger_service.views import RanksView, TraceDiffView, TraceView

# What JAX's and torch's profilers write into the folder that they are given, the newest first.
PROFILER_FILES = (".xplane.pb", ".pt.trace.json", ".pt.trace.json.gz")
MAX_SEEN = 10_000  # entries of a folder, which may be anything


def summarize(path: Path) -> TraceView:
    """Read one profiler file and say what it says; raises NotFoundError and UsageError."""
    name = shown(path)
    return look_at(name, _profile(path, workload=name, side=Side.HEAD))


def compare_ranks(paths: Sequence[Path]) -> RanksView:
    """Read a profiler file of each rank of a job and say which rank the others wait for.

    Raises NotFoundError and UsageError.
    """
    names = [shown(path) for path in paths]
    profiles = [
        _profile(path, workload=name, side=Side.HEAD)
        for path, name in zip(paths, names, strict=True)
    ]
    found = stragglers_of(profiles)
    if found is None:
        idle = names[min(range(len(profiles)), key=lambda place: _compute_seconds(profiles[place]))]
        msg = f"{idle} has no compute in its steps: give one profiler file of each rank of a job"
        raise UsageError(msg)
    told = found.readings()
    return RanksView(
        traces=tuple(
            look_at(name, replace(profile, readings=(*profile.readings, *told)))
            for name, profile in zip(names, profiles, strict=True)
        ),
        stragglers=found,
    )


def difference(base: Path, head: Path, *, again: Sequence[Path] = ()) -> TraceDiffView:
    """Read two profiler files and say what changed; raises NotFoundError and UsageError.

    `again` are other files of base's own code: what any two of those differ by is noise.
    """
    workload = shown(head)
    sides = tuple(
        _profile(path, workload=workload, side=side)
        for path, side in ((base, Side.BASE), (head, Side.HEAD))
    )
    same = [sides[0], *(_profile(path, workload=workload, side=Side.BASE) for path in again)]
    for other in (*sides[1:], *same[1:]):
        _check_same_kind(sides[0], other)
    for path, other in zip(again, same[1:], strict=True):
        if not is_same_device(sides[0], other):
            msg = f"{shown(path)} ran on another device than {shown(base)}: what they differ by is "
            msg += "no noise; give --aa profiles of the same code on the same device"
            raise UsageError(msg)
    return TraceDiffView(
        base=look_at(shown(base), sides[0]),
        head=look_at(shown(head), sides[1]),
        explanation=explain_change(*sides, repeats=tuple(combinations(same, 2))),
        is_same_device=is_same_device(*sides),
    )


def is_same_device(base: Profile, head: Profile) -> bool:
    """Tell whether two profiles may be of one model of device: of what they name, it is."""
    names = {one.device.name for one in (base, head) if one.device and one.device.name}
    return len(names) <= 1


def what_if(path: Path, *, changes: Mapping[str, float]) -> WhatIf:
    """Say what a file's step would take if parts of it were so many times faster.

    Raises NotFoundError and UsageError.
    """
    name = shown(path)
    return suppose(name, _profile(path, workload=name, side=Side.HEAD), changes)


def export(path: Path) -> tuple[str, str]:
    """Return all calls of a file as speedscope reads them, and what is left out of them.

    Raises NotFoundError, and UsageError for a file of sums, which has no timeline.
    """
    _check_file(path)
    with _told(path) as name:
        return export_speedscope(path.resolve(), name=name, environment=os.environ)


def _profile(path: Path, *, workload: str, side: Side) -> Profile:
    """Read a file in a child with limits: it may be anybody's."""
    _check_file(path)
    with _told(path):
        return read_trace(
            "auto", path.resolve(), workload=workload, side=side, environment=os.environ
        )


def _check_file(path: Path) -> None:
    if path.is_dir():
        msg = f"{shown(path)} is a folder: give one profiler file, {_inside(path)}"
        raise UsageError(msg)
    if not path.is_file():
        msg = f"there is no file {shown(path)}"
        raise NotFoundError(msg)


@contextmanager
def _told(path: Path) -> Generator[str]:
    """Give a file's name, and say which file could not be read; raises UsageError."""
    name = shown(path)
    try:
        yield name
    except ReaderError as error:
        words = str(error)
        msg = words if name in words else f"{name}: {words}"
        raise UsageError(msg) from error


def _inside(folder: Path) -> str:
    """Return in words which file of a folder to give: profilers write theirs some folders deep."""
    seen = islice(folder.rglob("*"), MAX_SEEN)
    found = [path for path in seen if path.name.endswith(PROFILER_FILES)]
    if not found:
        return "such as trace.json or xplane.pb"
    return f"such as {clean(str(max(found, key=_moment).relative_to(folder)))} in it"


def _moment(path: Path) -> tuple[float, str]:
    with suppress(OSError):
        return path.stat().st_mtime, path.name
    return 0.0, path.name


def _compute_seconds(profile: Profile) -> float:
    return profile.bucket_seconds()[Bucket.COMPUTE]


def _check_same_kind(base: Profile, head: Profile) -> None:
    if base.has_steps is not head.has_steps:
        whole, steps = (base, head) if head.has_steps else (head, base)
        msg = (
            f"a file of {whole.tool} without steps cannot be held against one of {steps.tool} with "
            "steps: compare two files of one kind"
        )
        raise UsageError(msg)
    if not base.step_seconds > 0 or not head.step_seconds > 0:
        timeless = head if base.step_seconds > 0 else base
        msg = (
            f"a file of {timeless.tool} without the time of any step or kernel has nothing to "
            "compare: trace summary shows the figures of each"
        )
        raise UsageError(msg)
