"""Profiles the workloads of two checkouts, and reads traces in a limited process.

Nothing here can fail a check: a profile explains a verdict but does not decide it.
"""

import math
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

from perfledger.profile import JAX_PROFILER, TORCH_PROFILER, Profile
from perfledger.protocol import ChildRequest, Command
from perfledger.records import FailureReason, Side, WorkloadSpec
from perfledger.rounding import digits
from perfledger_profiles.parsing.device_choice import ANY_DEVICE, DeviceChoice
from perfledger_runners.bundles.validation import check_profile
from perfledger_runners.bundles.value_checks import BundleError
from perfledger_runners.children.child import Child
from perfledger_runners.children.child_process import run_request, start_early
from perfledger_runners.children.child_variables import child_variables
from perfledger_runners.children.harness import Harness
from perfledger_runners.children.protocol_parser import FailedMessage, ProfiledMessage
from perfledger_runners.measuring.interleaving import run_interleaved, stop_point
from perfledger_runners.measuring.process_groups import SHARED, Separation, process_groups
from perfledger_runners.safe_text import MAX_DETAIL, clean_text, last_line

# A child's profiler → the reader of `python -m perfledger_profiles` for its files.
READERS = {TORCH_PROFILER: "kineto", JAX_PROFILER: "xplane"}
# A trace comes from a foreign process, so its reader runs in a process with these limits. A million
# events take 0.7 GB, an interpreter with numpy and jax 0.4 GB of address space.
READER_MEMORY_BYTES = 4 * 2**30
READER_CPU_S = 120  # a trace of 1 GB takes 17 s
READER_WALL_S = 180.0  # half as long again, for a busy machine
MAX_PROFILE_BYTES = 16 * 2**20
# A million calls of a recording, and as many names.
MAX_EXPORT_BYTES = 512 * 2**20
MAX_NOTE = 500  # characters of a note or an error of the reader
NO_PROFILER_NOTE = "{} was not profiled: its framework has no profiler here"
# Share of the remaining budget until the last windows begin: few windows explain more than none.
WINDOWS_SHARE = 0.6


class ReaderError(Exception):
    """A trace that cannot be read; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRuns:
    """The profiles by workload and side, and notes on missing ones."""

    profiles: tuple[Profile, ...] = ()
    repeats: tuple[Profile, ...] = ()  # more windows of the same code, operations only
    notes: tuple[str, ...] = ()


def profile_both(
    harness: Harness,
    requests: Mapping[Side, ChildRequest],
    workloads: Sequence[WorkloadSpec],
    *,
    separation: Separation = SHARED,
    memory_s: float | None = None,
) -> ProfileRuns:
    """Profile the workloads once on each side, in forks of a child per framework and side.

    Requests that do not fork have a child per workload and side. `separation` is that of the pairs.
    If the requests are interleaved, the sides' windows of profiled steps alternate, so that other
    load on the machine does not appear in only one of the two profiles. Profiles that explain peak
    memory alone have a few steps; `memory_s` is the most seconds for all of them.
    """
    if memory_s is not None:
        requests = {side: replace(each, explains_memory=True) for side, each in requests.items()}
        harness = replace(harness, ends_at=min(harness.ends_at, harness.clock() + memory_s))
    side_runs: list[ProfileRuns] = []
    is_forking = requests[Side.HEAD].is_forking
    groups = process_groups(
        workloads,
        is_forking=is_forking,
        separation=separation,
        file_of=requests[Side.HEAD].file_of,
    )
    for group in groups:
        in_forks = is_forking and not set(group) & separation.workloads.keys()
        with ExitStack() as stack:
            profile_requests = {
                side: replace(
                    _profiling(harness, requests[side], group, side),
                    is_forking=in_forks,
                    is_interleaved=requests[side].is_interleaved and separation.is_at_once(group),
                )
                for side in Side
            }
            children = {side: start_early(harness, profile_requests[side], stack) for side in Side}
            base, head = (
                stack.enter_context(
                    closing(
                        _profile_side(
                            harness, profile_requests[side], side, children[side], side_runs
                        )
                    )
                )
                for side in Side
            )
            run_interleaved(base, head, group)
    places = {spec.id: index for index, spec in enumerate(workloads)}
    profiles = [profile for each in side_runs for profile in each.profiles]
    profiles.sort(key=lambda profile: (places[profile.workload], profile.side))
    return ProfileRuns(
        profiles=tuple(profiles),
        repeats=tuple(profile for each in side_runs for profile in each.repeats),
        notes=tuple(dict.fromkeys(note for each in side_runs for note in each.notes)),
    )


def read_trace(
    reader: str,
    trace: Path,
    *,
    workload: str,
    side: Side,
    environment: Mapping[str, str],
    choice: DeviceChoice = ANY_DEVICE,
) -> Profile:
    """Return the profile in a trace as in `read_windows`; raise ReaderError."""
    (profile,) = read_windows(
        reader, [trace], workload=workload, side=side, environment=environment, choice=choice
    )
    return profile


def read_windows(
    reader: str,
    traces: Sequence[Path],
    *,
    workload: str,
    side: Side,
    environment: Mapping[str, str],
    shapes: Path | None = None,
    lines: Path | None = None,
    root: Path | None = None,
    choice: DeviceChoice = ANY_DEVICE,
    is_each_step: bool = False,
    has_step_totals: bool = False,
    wall_s: float = READER_WALL_S,
) -> tuple[Profile, ...]:
    """Return the profiles in traces of one code, read by a limited child of our interpreter.

    Profiles after the first have operations only; with `is_each_step` all have only operations and
    the times of their calls, with `has_step_totals` the first has their time in each step. `shapes`
    and `lines` are files about the first, `root` is its checkout. Raises ReaderError.
    """
    files = {"shapes": shapes, "lines": lines, "root": root}
    options = {**files, "device": choice.device, "rank": choice.rank}
    chosen = [f"--{name}={value}" for name, value in options.items() if value is not None]
    flags = {"--each-step": is_each_step, "--step-totals": has_step_totals}
    chosen += [flag for flag, is_set in flags.items() if is_set]
    # "--" because a workload's name may begin with a dash.
    arguments = [*chosen, "--", reader, workload, side, *map(str, traces)]
    answer = _answer(arguments, environment, wall_s=wall_s)
    try:
        # Names of a foreign process, cleaned for a bundle.
        cleaned = _clean(msgspec.json.decode(answer))
        profiles = msgspec.convert(cleaned, type=tuple[Profile, ...])
        for profile in profiles:
            # A file with readings only, such as a log of bandwidths, has no times to check.
            if profile.has_steps or profile.operations:
                check_profile("profile", profile, {workload})
    except (msgspec.MsgspecError, BundleError) as error:
        msg = f"the reader's answer is not a profile: {error}"
        raise ReaderError(msg) from error
    if len(profiles) != len(traces):
        msg = f"the reader answered with {len(profiles)} profiles of {len(traces)} files"
        raise ReaderError(msg)
    return profiles


def export_speedscope(trace: Path, *, name: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """Return a recording as speedscope's JSON, and a note on what it leaves out.

    A child reads it, as in `read_trace`. Raises ReaderError.
    """
    answer = _answer(
        ["--speedscope", "--", "auto", name, Side.HEAD, str(trace)],
        environment,
        most_bytes=MAX_EXPORT_BYTES,
    )
    note, _, document = answer.decode(errors="replace").partition("\n")
    return document, clean_text(note)[:MAX_NOTE]


def limit_resources(process: int, *, most_bytes: int = MAX_PROFILE_BYTES) -> None:
    """Limit a running process to the reader's memory, CPU time and file size."""
    if not hasattr(resource, "prlimit"):  # Linux only; elsewhere only the timeout applies
        return
    for kind, limit in (
        (resource.RLIMIT_AS, READER_MEMORY_BYTES),
        (resource.RLIMIT_CPU, READER_CPU_S),
        (resource.RLIMIT_FSIZE, most_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ProcessLookupError):  # it has ended already
            _, hard = resource.prlimit(process, kind)
            most = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.prlimit(process, kind, (most, most))


def _profiling(
    harness: Harness, request: ChildRequest, workloads: tuple[str, ...], side: Side
) -> ChildRequest:
    left_s = harness.seconds_left()
    return replace(
        request,
        command=Command.PROFILE,
        workloads=workloads,
        trace_folder=str(trace_folder(harness, side)),
        profile_s=max(0.0, WINDOWS_SHARE * left_s) if math.isfinite(left_s) else None,
    )


def trace_folder(harness: Harness, side: Side) -> Path:
    """Create and return the folder for the traces of a side's children."""
    folder = harness.folder / "traces" / side
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _profile_side(
    harness: Harness,
    request: ChildRequest,
    side: Side,
    child: Child | None,
    side_runs: list[ProfileRuns],
) -> Generator[str]:
    """Profile one side into `side_runs`, with notes on failures; yield the stops for turns."""
    for message in run_request(harness, request, first=child):
        if stop := stop_point(message):
            yield stop
        match message:
            case FailedMessage():
                reason = f"{message.reason}: {message.detail}"[:MAX_NOTE]
                more = "; raise it to explain more" * (message.reason is FailureReason.BUDGET)
                note = f"{message.workload} could not be profiled on {side}: {reason}{more}"
                side_runs.append(ProfileRuns(notes=(note,)))
            case ProfiledMessage():
                side_runs.append(_read_traces(harness, message, request, side))
            case _:
                pass


def _read_traces(
    harness: Harness, message: ProfiledMessage, request: ChildRequest, side: Side
) -> ProfileRuns:
    """Read the traces of a child's windows, and remove them."""
    folder = Path(request.trace_folder).resolve()
    if message.tool not in READERS:
        return ProfileRuns(notes=(NO_PROFILER_NOTE.format(message.workload),))
    try:
        windows = read_child_windows(
            harness,
            message.tool,
            (message.trace, *message.repeats),
            folder=folder,
            workload=message.workload,
            side=side,
            shapes=message.shapes,
            lines=message.lines,
            root=Path(request.root),
        )
    except ReaderError as error:
        note = f"the profile of {message.workload} on {side} could not be read: {error}"
        return ProfileRuns(notes=(note,))
    return ProfileRuns(profiles=windows[:1], repeats=windows[1:])


def read_child_windows(
    harness: Harness,
    tool: str,
    traces: Sequence[str],
    *,
    folder: Path,
    workload: str,
    side: Side,
    shapes: str = "",
    lines: str = "",
    root: Path | None = None,
    is_each_step: bool = False,
) -> tuple[Profile, ...]:
    """Return the profiles in the traces that a child wrote, as in `read_windows`; remove them.

    A child may name only files in its trace folder. `tool` is one of READERS. Raises ReaderError.
    """
    paths = [own_file(path, folder) for path in traces]
    shapes_path, lines_path = (own_file(path, folder) if path else None for path in (shapes, lines))
    try:
        return read_windows(
            READERS[tool],
            paths,
            workload=workload,
            side=side,
            environment=harness.environment,
            shapes=shapes_path,
            lines=lines_path,
            root=root,
            is_each_step=is_each_step,
            wall_s=min(READER_WALL_S, max(0.0, harness.seconds_left())),
        )
    finally:
        for file in (*paths, *filter(None, (shapes_path, lines_path))):
            file.unlink(missing_ok=True)  # it may have been named twice


def own_file(path: str, folder: Path) -> Path:
    """Return a file that a child names in its trace folder; raise ReaderError on any other."""
    try:
        file = Path(path).resolve()
        is_own = file.is_relative_to(folder.resolve()) and file.is_file()
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: a link to itself
        msg = "the child named a file that cannot be opened"
        raise ReaderError(msg) from error
    if not is_own:
        msg = "the child named a file outside its trace folder"
        raise ReaderError(msg)
    return file


def exit_reason(status: int) -> str:
    """Return why a reader without a message ended; the system kills it at its limits."""
    if status in (-signal.SIGKILL, -signal.SIGXCPU):
        return (
            f"the reader was killed: the file needs more than {READER_CPU_S} s of CPU time or more "
            "memory than is left: profile fewer steps"
        )
    return f"the reader ended with status {status}"


def _late_reader(wall_s: float) -> str:
    """Return why a reader did not end in its time, and what helps."""
    late = f"the reader did not end within {digits(wall_s, 3)} s"
    if wall_s < READER_WALL_S:
        return f"{late}, at the end of the budget: raise it, or choose fewer workloads"
    return f"{late}: profile fewer or smaller steps, or stop other programs"


def _answer(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    most_bytes: int = MAX_PROFILE_BYTES,
    wall_s: float = READER_WALL_S,
) -> bytes:
    """Return the reader's output, within its limits."""
    # numpy's idle threads on every core would use up address space.
    fixed = {"JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryFile() as file:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", "-m", "perfledger_profiles", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.PIPE,
            env=child_variables(environment) | fixed,
            start_new_session=True,
        )
        limit_resources(process.pid, most_bytes=most_bytes)
        try:
            _, complaint = process.communicate(timeout=wall_s)
        except subprocess.TimeoutExpired as error:
            process.kill()
            process.communicate()
            raise ReaderError(_late_reader(wall_s)) from error
        if process.returncode != 0:
            words = last_line(clean_text(complaint.decode(errors="replace")))
            msg = words or exit_reason(process.returncode)
            raise ReaderError(msg[:MAX_NOTE])
        file.seek(0)
        return file.read()


def _clean(value: object) -> object:
    """Return decoded JSON with every text cleaned and cut to a bundle's limit."""
    match value:
        case str():
            return clean_text(value)[:MAX_DETAIL]
        case list():
            return [_clean(item) for item in cast("list[object]", value)]
        case dict():
            fields = cast("dict[str, object]", value)
            return {name: _clean(item) for name, item in fields.items()}
        case _:
            return value
