"""Reads the profiled windows of a check's runs, and matches the kernels of both sides.

The windows follow a run's measured steps in the same process, so that each pair has kernel times of
both sides without further processes.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfledger.kernel_times import StepSeconds, WorkloadKernels
from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_profiles.diff.kernel_times import (
    SideKernel,
    kernel_times,
    kernels_of_side,
    step_seconds,
)
from perfledger_runners.children.harness import Harness
from perfledger_runners.children.protocol_parser import WindowsMessage
from perfledger_runners.measuring.profile_runs import (
    MAX_NOTE,
    READER_WALL_S,
    READERS,
    ReaderError,
    own_file,
    read_child_windows,
    read_windows,
    trace_folder,
)
from perfledger_runners.safe_text import clean_text

NO_TRACE = "the child named no trace"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWindows:
    """The profiled windows of one run; `failure` says why there are none."""

    workload: str
    side: Side
    pair: int
    steps: StepSeconds = ()
    kernels: tuple[SideKernel, ...] = ()
    failure: str = ""


def read_pair_windows(
    harness: Harness, messages: Iterable[tuple[Side, WindowsMessage]], *, pair: int
) -> tuple[RunWindows, ...]:
    """Return the windows that children recorded after the runs of a pair; their files are removed.

    One process reads both sides of a workload: its start takes longer than the reading. If it
    fails, each side has a process of its own, so that only the side at fault loses its windows.
    """
    by_workload: defaultdict[str, list[tuple[Side, WindowsMessage]]] = defaultdict(list)
    for side, message in messages:
        by_workload[message.workload].append((side, message))
    windows: list[RunWindows] = []
    for sides in by_workload.values():
        windows += _read_together(harness, sides, pair=pair) or (
            read_run_windows(harness, message, side=side, pair=pair) for side, message in sides
        )
    return tuple(windows)


def read_run_windows(
    harness: Harness, message: WindowsMessage, *, side: Side, pair: int
) -> RunWindows:
    """Return the windows that a child recorded after a run; their files are removed."""
    workload, files = message.workload, message.windows
    if files.tool not in READERS:
        reason = clean_text(files.reason)[:MAX_NOTE] or "its framework has no profiler here"
        return RunWindows(workload=workload, side=side, pair=pair, failure=reason)
    if not files.traces:
        return RunWindows(workload=workload, side=side, pair=pair, failure=NO_TRACE)
    try:
        windows = read_child_windows(
            harness,
            files.tool,
            files.traces,
            folder=trace_folder(harness, side),
            workload=workload,
            side=side,
            is_each_step=True,
        )
    except ReaderError as error:
        return RunWindows(workload=workload, side=side, pair=pair, failure=str(error)[:MAX_NOTE])
    return _run_windows(windows, workload=workload, side=side, pair=pair)


def match_kernels(
    workloads: Iterable[str], runs: Sequence[RunWindows]
) -> tuple[WorkloadKernels, ...]:
    """Return the kernels of each workload in its pairs with windows of both sides."""
    return tuple(
        _match_workload(workload, [run for run in runs if run.workload == workload])
        for workload in workloads
    )


def lost_window_notes(
    kernels: Iterable[WorkloadKernels], runs: Sequence[RunWindows]
) -> tuple[str, ...]:
    """Return a note for each workload that has windows in some pairs but lost them in others."""
    notes: list[str] = []
    for each in kernels:
        lost = {run.pair for run in runs if run.workload == each.workload} - set(each.pairs)
        if each.pairs and lost:
            notes.append(
                f"{each.workload}: the kernels of {len(lost)} of {len(lost) + len(each.pairs)} "
                f"profiled pairs are missing: {each.failure}"
            )
    return tuple(notes)


def _read_together(
    harness: Harness, sides: Sequence[tuple[Side, WindowsMessage]], *, pair: int
) -> tuple[RunWindows, ...]:
    """Return the windows of both sides, read by one process; () if it cannot read them all."""
    tools = {message.windows.tool for _, message in sides}
    is_readable = len(tools) == 1 and tools <= READERS.keys()
    if len(sides) == 1 or not (is_readable and all(each.windows.traces for _, each in sides)):
        return ()
    workload = sides[0][1].workload
    try:
        files = [
            [own_file(path, trace_folder(harness, side)) for path in message.windows.traces]
            for side, message in sides
        ]
        profiles = iter(
            read_windows(
                READERS[tools.pop()],
                [file for of_side in files for file in of_side],
                workload=workload,
                side=Side.BASE,  # of both sides only kernels are kept, which have none
                environment=harness.environment,
                is_each_step=True,
                wall_s=min(READER_WALL_S, max(0.0, harness.seconds_left())),
            )
        )
    except ReaderError:
        return ()
    windows = tuple(
        _run_windows([next(profiles) for _ in of_side], workload=workload, side=side, pair=pair)
        for (side, _), of_side in zip(sides, files, strict=True)
    )
    for file in (file for of_side in files for file in of_side):
        file.unlink(missing_ok=True)  # it may have been named twice
    return windows


def _run_windows(windows: Sequence[Profile], *, workload: str, side: Side, pair: int) -> RunWindows:
    return RunWindows(
        workload=workload,
        side=side,
        pair=pair,
        steps=step_seconds(windows),
        kernels=kernels_of_side(windows),
    )


def _match_workload(workload: str, runs: Sequence[RunWindows]) -> WorkloadKernels:
    read = {(run.pair, run.side): run for run in runs if not run.failure}
    pairs = sorted(pair for pair, side in read if side is Side.BASE and (pair, Side.HEAD) in read)
    failures = (f"{run.failure} ({run.side}, pair {run.pair + 1})" for run in runs if run.failure)
    base, head = ([read[pair, side] for pair in pairs] for side in (Side.BASE, Side.HEAD))
    return WorkloadKernels(
        workload=workload,
        pairs=tuple(pairs),
        base_steps=tuple(run.steps for run in base),
        head_steps=tuple(run.steps for run in head),
        kernels=kernel_times([run.kernels for run in base], [run.kernels for run in head])
        if pairs
        else (),
        failure=next(failures, ""),
    )
