"""Reads untrusted profiler files in a child process with limits."""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_profiles.parsing.device_choice import ANY_DEVICE, DeviceChoice
from perfledger_runners.measuring.profile_runs import ReaderError, read_windows
from perfledger_service.errors import UsageError
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.usecases.inputs.files import errors_about, missing_file, shown_path
from perfledger_service.usecases.inputs.history_sources import display_name

# Suffixes of the files that the profilers of JAX and torch write into a folder.
PROFILER_FILES = (".xplane.pb", ".pt.trace.json", ".pt.trace.json.gz")
MAX_SEEN = 10_000  # entries of a folder, which may be anything


def read_profile_file(
    path: Path,
    *,
    workload: str,
    side: Side,
    choice: DeviceChoice = ANY_DEVICE,
    has_step_totals: bool = False,
) -> Profile:
    """Read a profiler file in a child process with limits, since it is untrusted.

    With `has_step_totals` the profile has the time of each operation in each step.
    """
    check_profile_file(path)
    with errors_about(path), named_errors(path):
        (profile,) = read_windows(
            "auto",
            [path.resolve()],
            workload=workload,
            side=side,
            environment=os.environ,
            choice=choice,
            has_step_totals=has_step_totals,
        )
    return profile


def check_profile_file(path: Path) -> None:
    """Raise UsageError for a folder, NotFoundError without a file."""
    if path.is_dir():
        msg = f"{shown_path(path)} is a folder: give one profiler file, {_example_file(path)}"
        raise UsageError(msg)
    if not path.is_file():
        raise missing_file(path)


@contextmanager
def named_errors(path: Path) -> Generator[str]:
    """Provide a file's name, and add it to readers' errors, raised as UsageError."""
    name = display_name(path)
    try:
        yield name
    except ReaderError as error:
        words = str(error)
        msg = words if name in words else f"{name}: {words}"
        raise UsageError(msg) from error


def _example_file(folder: Path) -> str:
    """Return an example of a profiler file in a folder; profilers write several folders deep."""
    entries = islice(folder.rglob("*"), MAX_SEEN)
    profiler_files = [path for path in entries if path.name.endswith(PROFILER_FILES)]
    if not profiler_files:
        return "such as trace.json or xplane.pb"
    return f"such as {clean(str(max(profiler_files, key=_moment).relative_to(folder)))} in it"


def _moment(path: Path) -> tuple[float, str]:
    with suppress(OSError):
        return path.stat().st_mtime, path.name
    return 0.0, path.name
