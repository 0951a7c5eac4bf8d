"""Summarizes one profiler file, or compares a job's ranks by their files."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from perfledger.measuring.turn_core import usable_cores
from perfledger.profile import Bucket, Profile
from perfledger.records import Side
from perfledger_profiles.bottleneck.stragglers import stragglers_of, with_late_device
from perfledger_profiles.parsing.device_choice import ANY_DEVICE, DeviceChoice
from perfledger_runners.measuring.profile_runs import export_speedscope
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.files import errors_about
from perfledger_service.usecases.inputs.history_sources import display_name
from perfledger_service.usecases.trace.explain import classify_profile
from perfledger_service.usecases.trace.profile_files import (
    check_profile_file,
    named_errors,
    read_profile_file,
)
from perfledger_service.values.trace_views import RanksView, TraceView


def summarize(path: Path, *, choice: DeviceChoice = ANY_DEVICE) -> TraceView:
    """Summarize one profiler file; raise NotFoundError and UsageError."""
    name = display_name(path)
    profile = read_profile_file(path, workload=name, side=Side.HEAD, choice=choice)
    return classify_profile(name, with_late_device(profile))


def compare_ranks(paths: Sequence[Path], *, choice: DeviceChoice = ANY_DEVICE) -> RanksView:
    """Compare one profiler file per rank of a job: which rank do the others wait for.

    As many files are read at once as there are cores. Raises NotFoundError and UsageError.
    """
    names = [display_name(path) for path in paths]
    with ThreadPoolExecutor(usable_cores()) as pool:  # each thread waits for a process
        profiles = list(pool.map(partial(_read_rank, choice=choice), paths, names))
    _check_ranks(names, profiles)
    stragglers = stragglers_of(profiles)
    if stragglers is None:
        idle = names[min(range(len(profiles)), key=lambda place: _compute_seconds(profiles[place]))]
        msg = f"{idle} has no compute in its steps: give one profiler file of each rank of a job"
        raise UsageError(msg)
    straggler_readings = stragglers.readings()
    return RanksView(
        traces=tuple(
            classify_profile(
                name, replace(profile, readings=(*profile.readings, *straggler_readings))
            )
            for name, profile in zip(names, profiles, strict=True)
        ),
        stragglers=stragglers,
    )


def _check_ranks(names: Sequence[str], profiles: Sequence[Profile]) -> None:
    """Raise UsageError if two files state the same rank: they are no two ranks of a job."""
    file_of_rank: dict[int, str] = {}
    for name, profile in zip(names, profiles, strict=True):
        if profile.rank is None:
            continue
        if profile.rank in file_of_rank:
            first_name = file_of_rank[profile.rank]
            msg = (
                f"{first_name} and {name} are both of rank {profile.rank}: give one profiler file "
                "of each rank (perfledger trace diff compares two files of one rank)"
            )
            raise UsageError(msg)
        file_of_rank[profile.rank] = name


def _read_rank(path: Path, name: str, *, choice: DeviceChoice) -> Profile:
    return read_profile_file(path, workload=name, side=Side.HEAD, choice=choice)


def export(path: Path) -> tuple[str, str]:
    """Return all calls of a file in speedscope's format, and what is left out.

    Raises NotFoundError, and UsageError for a file of totals, which has no timeline.
    """
    check_profile_file(path)
    with errors_about(path), named_errors(path) as name:
        return export_speedscope(path.resolve(), name=name, environment=os.environ)


def _compute_seconds(profile: Profile) -> float:
    return profile.bucket_seconds()[Bucket.COMPUTE]
