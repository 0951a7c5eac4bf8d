"""Two checkouts and some workloads in, a profile of each side of each out, or why there is none.

Nothing here can fail a check: a profile explains a verdict, it does not make one.
"""

import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import msgspec

from perfledger.profile import Profile
from perfledger.protocol import Command, Request
from perfledger.records import Side, WorkloadSpec
from perfledger_runners.bundle_checks import BundleError, check_profile
from perfledger_runners.child import Child, run_request, start_early
from perfledger_runners.harness import Harness, without_secrets
from perfledger_runners.messages import Failed, Profiled
from perfledger_runners.pairs import alternate, stop_of
from perfledger_runners.text import MAX_DETAIL, clean, last_line

# The profiler a child used → the reader of `python -m perfledger_profiles` for its files.
READERS = {"torch.profiler": "kineto", "jax.profiler": "xplane"}
# A trace is written by a foreign process: its reader runs in one that may not use more than this.
# A million events take 0.7 GB, an interpreter with numpy and jax 0.4 GB of addresses.
READER_MEMORY_BYTES = 4 * 2**30
READER_CPU_S = 120
READER_WALL_S = 180.0
MAX_PROFILE_BYTES = 16 * 2**20
# A million calls of a recording, and as many names.
MAX_EXPORT_BYTES = 512 * 2**20
MAX_NOTE = 500


class ReaderError(Exception):
    """A trace could not be read; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """The profiles, by workload and then by side, and what there is to say about missing ones."""

    profiles: tuple[Profile, ...] = ()
    repeats: tuple[Profile, ...] = ()  # the same code again, as far as its operations go
    notes: tuple[str, ...] = ()


def profile_both(
    harness: Harness, requests: Mapping[Side, Request], workloads: Sequence[WorkloadSpec]
) -> Explained:
    """Profile the workloads once on each side: one child for each framework and side.

    Where the requests take turns, the sides' windows of profiled steps alternate: what else the
    machine is doing would else be found in one of the two profiles.
    """
    found: list[Explained] = []
    for framework in dict.fromkeys(spec.framework for spec in workloads):
        group = tuple(spec.id for spec in workloads if spec.framework is framework)
        with ExitStack() as stack:
            asked = {side: _profiling(harness, requests[side], group, side) for side in Side}
            children = {side: start_early(harness, asked[side], stack) for side in Side}
            base, head = (
                stack.enter_context(
                    closing(_profile_side(harness, asked[side], side, children[side], found))
                )
                for side in Side
            )
            alternate(base, head, group)
    places = {spec.id: index for index, spec in enumerate(workloads)}
    profiles = [profile for each in found for profile in each.profiles]
    profiles.sort(key=lambda profile: (places[profile.workload], profile.side))
    return Explained(
        profiles=tuple(profiles),
        repeats=tuple(profile for each in found for profile in each.repeats),
        notes=tuple(dict.fromkeys(note for each in found for note in each.notes)),
    )


def read_trace(
    reader: str, trace: Path, *, workload: str, side: Side, environment: Mapping[str, str]
) -> Profile:
    """Return the profile in a trace, read by a child of our own interpreter with limits.

    `environment` is what the child is started with, less its secrets. Nothing is written beside
    the trace. Raises ReaderError.
    """
    # A workload's name may begin with a dash.
    answer = _answer(["--", reader, str(trace), workload, side], environment)
    try:
        # What a foreign process called things, as a bundle may hold it.
        profile = msgspec.convert(_cleaned(msgspec.json.decode(answer)), type=Profile)
        # A file of readings alone, such as a log of bandwidths, has no time to be checked.
        if profile.has_steps or profile.operations:
            check_profile("profile", profile, {workload})
    except (msgspec.MsgspecError, BundleError) as error:
        msg = f"the reader's answer is no profile: {error}"
        raise ReaderError(msg) from error
    return profile


def export_speedscope(trace: Path, *, name: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """Return a whole recording as speedscope's JSON, and what is left out of it.

    Read by a child as in `read_trace`. Raises ReaderError.
    """
    answer = _answer(
        ["--speedscope", "--", "auto", str(trace), name, Side.HEAD],
        environment,
        most_bytes=MAX_EXPORT_BYTES,
    )
    note, _, document = answer.decode(errors="replace").partition("\n")
    return document, clean(note)[:MAX_NOTE]


def limit_resources(process: int, *, most_bytes: int = MAX_PROFILE_BYTES) -> None:
    """Keep a running process within the reader's memory and time, and its files in a size."""
    if not hasattr(resource, "prlimit"):  # Linux only; elsewhere the time limit is all there is
        return
    for kind, limit in (
        (resource.RLIMIT_AS, READER_MEMORY_BYTES),
        (resource.RLIMIT_CPU, READER_CPU_S),
        (resource.RLIMIT_FSIZE, most_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ProcessLookupError):  # it has ended already, and will say why
            _, hard = resource.prlimit(process, kind)
            most = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.prlimit(process, kind, (most, most))


def _profiling(
    harness: Harness, request: Request, workloads: tuple[str, ...], side: Side
) -> Request:
    folder = harness.folder / "traces" / side
    folder.mkdir(parents=True, exist_ok=True)
    return replace(request, command=Command.PROFILE, workloads=workloads, trace_folder=str(folder))


def _profile_side(
    harness: Harness, request: Request, side: Side, child: Child | None, found: list[Explained]
) -> Generator[str]:
    """Profile one side into `found`, a note where it fails; yield what waits for its turn."""
    for message in run_request(harness, request, first=child):
        if stop := stop_of(message):
            yield stop
        match message:
            case Failed():
                reason = f"{message.why}: {message.detail}"[:MAX_NOTE]
                note = f"{message.workload} could not be profiled on {side}: {reason}"
                found.append(Explained(notes=(note,)))
            case Profiled():
                found.append(_explained(harness, message, Path(request.trace_folder), side))
            case _:
                pass


def _explained(harness: Harness, message: Profiled, folder: Path, side: Side) -> Explained:
    """Read what a child recorded, and what it recorded again."""
    if message.tool not in READERS:
        note = f"{message.workload} was not profiled: there is no profiler for what it runs on"
        return Explained(notes=(note,))
    read: list[Profile] = []
    notes: list[str] = []
    for path in filter(None, (message.trace, message.again)):
        try:
            read.append(_profile(harness, message, Path(path).resolve(), folder, side))
        except ReaderError as error:
            notes.append(f"the profile of {message.workload} on {side} could not be read: {error}")
    return Explained(
        profiles=tuple(read[:1]), repeats=tuple(map(_summed, read[1:])), notes=tuple(notes)
    )


def _profile(harness: Harness, message: Profiled, trace: Path, folder: Path, side: Side) -> Profile:
    """Return the profile in a trace of a child's, and remove the trace; raises ReaderError."""
    if not (trace.is_relative_to(folder.resolve()) and trace.is_file()):
        msg = "the child named a file that is not where it was to be"
        raise ReaderError(msg)
    try:
        return read_trace(
            READERS[message.tool],
            trace,
            workload=message.workload,
            side=side,
            environment=harness.environment,
        )
    finally:
        trace.unlink()


def _summed(profile: Profile) -> Profile:
    """Return a profile without all that noise is not learnt from: a tenth of its size."""
    return replace(
        profile,
        kernels=(),
        each_step=(),
        streams=(),
        readings=(),
        slices=(),
        memory=(),
        collectives=(),
        notes=(),
    )


def why_ended(status: int) -> str:
    """Say why a reader without a word of its own ended; the system kills it at its limits."""
    if status in (-signal.SIGKILL, -signal.SIGXCPU):
        return (
            f"the reader was stopped: the file takes more than {READER_CPU_S} s of processor time, "
            "or all memory that is left: profile fewer steps"
        )
    return f"the reader ended with status {status}"


def _answer(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    most_bytes: int = MAX_PROFILE_BYTES,
) -> bytes:
    """Return what the reader prints within its limits."""
    # Threads that numpy's linear algebra would start on every core cost addresses, and do nothing.
    fixed = {"JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryFile() as file:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", "-m", "perfledger_profiles", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.PIPE,
            env=without_secrets(environment) | fixed,
            start_new_session=True,
        )
        limit_resources(process.pid, most_bytes=most_bytes)
        try:
            _, complaint = process.communicate(timeout=READER_WALL_S)
        except subprocess.TimeoutExpired as error:
            process.kill()
            process.communicate()
            msg = f"the reader did not end within {READER_WALL_S:g} s"
            raise ReaderError(msg) from error
        if process.returncode != 0:
            words = last_line(clean(complaint.decode(errors="replace")))
            msg = words or why_ended(process.returncode)
            raise ReaderError(msg[:MAX_NOTE])
        file.seek(0)
        return file.read()


def _cleaned(value: object) -> object:
    """Return decoded JSON with every text in it clean, and cut to what a bundle takes."""
    match value:
        case str():
            return clean(value)[:MAX_DETAIL]
        case list():
            return [_cleaned(item) for item in cast("list[object]", value)]
        case dict():
            fields = cast("dict[str, object]", value)
            return {name: _cleaned(item) for name, item in fields.items()}
        case _:
            return value
