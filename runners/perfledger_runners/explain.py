"""Two checkouts and some workloads in, a profile of each side of each out, or why there is none.

Nothing here can fail a check: a profile explains a verdict, it does not make one.
"""

import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from perfledger.profile import Profile
from perfledger.protocol import Command, Request
from perfledger.records import Side, WorkloadSpec
from perfledger_runners.bundle_checks import BundleError, check_profile
from perfledger_runners.child import run_request
from perfledger_runners.harness import Harness, without_secrets
from perfledger_runners.messages import Failed, Profiled
from perfledger_runners.text import MAX_DETAIL, clean, last_line

# The profiler a child used → the reader of `python -m perfledger_profiles` for its files.
READERS = {"torch.profiler": "kineto", "jax.profiler": "xplane"}
# A trace is written by a foreign process: its reader runs in one that may not use more than this.
# A million events take 0.7 GB, an interpreter with numpy and jax 0.4 GB of addresses.
READER_MEMORY_BYTES = 4 * 2**30
READER_CPU_S = 120
READER_WALL_S = 180.0
MAX_PROFILE_BYTES = 16 * 2**20
MAX_NOTE = 500


class ReaderError(Exception):
    """A trace could not be read; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """The profiles, by workload and then by side, and what there is to say about missing ones."""

    profiles: tuple[Profile, ...]
    notes: tuple[str, ...] = ()


def profile_both(
    harness: Harness, requests: Mapping[Side, Request], workloads: Sequence[WorkloadSpec]
) -> Explained:
    """Profile the workloads once on each side: one child for each framework and side."""
    profiles: list[Profile] = []
    notes: list[str] = []
    for framework in dict.fromkeys(spec.framework for spec in workloads):
        group = tuple(spec.id for spec in workloads if spec.framework is framework)
        for side in Side:
            for found in _profile_side(harness, requests[side], group, side):
                if isinstance(found, Profile):
                    profiles.append(found)
                else:
                    notes.append(found)
    places = {spec.id: index for index, spec in enumerate(workloads)}
    profiles.sort(key=lambda profile: (places[profile.workload], profile.side))
    return Explained(profiles=tuple(profiles), notes=tuple(dict.fromkeys(notes)))


def read_trace(reader: str, trace: Path, *, workload: str, side: Side, harness: Harness) -> Profile:
    """Return the profile in a trace, read by a child of our own interpreter with limits.

    Raises ReaderError.
    """
    arguments = [reader, str(trace), workload, side]
    output = trace.with_name(trace.name + ".profile.json")
    # Threads that numpy's linear algebra would start on every core cost addresses, and do nothing.
    environment = {"JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1"}
    with output.open("wb") as file:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", "-m", "perfledger_profiles", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.PIPE,
            env=without_secrets(harness.environment) | environment,
            start_new_session=True,
        )
    limit_resources(process.pid)
    try:
        _, complaint = process.communicate(timeout=READER_WALL_S)
    except subprocess.TimeoutExpired as error:
        process.kill()
        process.communicate()
        msg = f"the reader did not end within {READER_WALL_S:g} s"
        raise ReaderError(msg) from error
    if process.returncode != 0:
        words = last_line(clean(complaint.decode(errors="replace")))
        msg = words or f"the reader ended with status {process.returncode}"
        raise ReaderError(msg[:MAX_NOTE])
    try:
        return _checked(msgspec.json.decode(output.read_bytes(), type=Profile), workload)
    except (msgspec.MsgspecError, BundleError) as error:
        msg = f"the reader's answer is no profile: {error}"
        raise ReaderError(msg) from error


def limit_resources(process: int) -> None:
    """Keep a running process within the reader's memory, time and file size."""
    if not hasattr(resource, "prlimit"):  # Linux only; elsewhere the time limit is all there is
        return
    for kind, limit in (
        (resource.RLIMIT_AS, READER_MEMORY_BYTES),
        (resource.RLIMIT_CPU, READER_CPU_S),
        (resource.RLIMIT_FSIZE, MAX_PROFILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ProcessLookupError):  # it has ended already, and will say why
            _, hard = resource.prlimit(process, kind)
            most = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.prlimit(process, kind, (most, most))


def _profile_side(
    harness: Harness, request: Request, workloads: tuple[str, ...], side: Side
) -> Iterator[Profile | str]:
    folder = harness.folder / "traces" / side
    folder.mkdir(parents=True, exist_ok=True)
    asked = replace(request, command=Command.PROFILE, workloads=workloads, trace_folder=str(folder))
    for message in run_request(harness, asked):
        if isinstance(message, Failed):
            reason = f"{message.why}: {message.detail}"[:MAX_NOTE]
            yield f"{message.workload} could not be profiled on {side}: {reason}"
        elif isinstance(message, Profiled):
            yield _profile(harness, message, folder, side)


def _profile(harness: Harness, message: Profiled, folder: Path, side: Side) -> Profile | str:
    reader = READERS.get(message.tool)
    if reader is None:
        return f"{message.workload} was not profiled: there is no profiler for what it runs on"
    complaint = f"the profile of {message.workload} on {side} could not be read"
    trace = Path(message.trace).resolve()
    if not (trace.is_relative_to(folder.resolve()) and trace.is_file()):
        return f"{complaint}: the child named a file that is not where it was to be"
    try:
        profile = read_trace(reader, trace, workload=message.workload, side=side, harness=harness)
    except ReaderError as error:
        return f"{complaint}: {error}"
    finally:
        trace.unlink()
    return profile


def _checked(profile: Profile, workload: str) -> Profile:
    """Return the profile as a bundle may hold it: its names were written by a foreign process."""
    operations = tuple(
        replace(
            operation,
            name=clean(operation.name)[:MAX_DETAIL],
            shapes=clean(operation.shapes)[:MAX_DETAIL],
            path=clean(operation.path)[:MAX_DETAIL],
        )
        for operation in profile.operations
    )
    notes = tuple(clean(note)[:MAX_DETAIL] for note in profile.notes)
    checked = replace(profile, operations=operations, notes=notes)
    check_profile("profile", checked, {workload})
    return checked
